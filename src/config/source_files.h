#pragma once

#include <string>
#include <vector>

#include "config/reporter.h"
#include "config/source_file.h"

namespace patchbay {

/// Reads the files that `paths` name, as LoadPaths promises. Reports what cannot be read, and a
/// directory without files. Of a file that is too large a little more than kLargestSource is read,
/// of all files a little more than kLargestInput.
std::vector<SourceFile> ReadSources(const std::vector<std::string>& paths, Reporter& reporter);

}  // namespace patchbay
