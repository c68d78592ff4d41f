#pragma once

#include <string>
#include <vector>

#include "config/reporter.h"
#include "config/source_file.h"

namespace patchbay {

/// The files that were read.
struct SourceFiles {
  std::vector<SourceFile> files;
  bool are_being_written = false;  ///< at least one is, see os/read_file.h
};

/// Reads the files and directories in `paths` as LoadPaths specifies. Reports files that cannot be
/// read and directories without files. Reads slightly more than kLargestSource of a file that is
/// too large, and slightly more than kLargestInput in total.
SourceFiles ReadSources(const std::vector<std::string>& paths, Reporter& reporter);

}  // namespace patchbay
