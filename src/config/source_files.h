#pragma once

#include <string>
#include <vector>

#include "config/reporter.h"
#include "config/source_file.h"

namespace patchbay {

/// What was read.
struct SourceFiles {
  std::vector<SourceFile> files;
  bool are_being_written = false;  ///< one of them is, see os/read_file.h
};

/// Reads the files that `paths` name, as LoadPaths promises. Reports what cannot be read, and a
/// directory without files. Of a file that is too large a little more than kLargestSource is read,
/// of all files a little more than kLargestInput.
SourceFiles ReadSources(const std::vector<std::string>& paths, Reporter& reporter);

}  // namespace patchbay
