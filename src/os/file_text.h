#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace patchbay {

/// What a file held at one moment.
struct FileText {
  std::string text;
  bool is_being_written = false;  ///< somebody has it open for writing, so it may be half of it
};

/// Reads a file to its end, or to a little more than `most_bytes`. Nobody can begin to write to it
/// meanwhile, where the system allows that to be asked for: on file systems of this machine, of
/// files that belong to the user of this process. Fails as the system does. May be slow.
Result<FileText> ReadFileText(const std::string& path, std::size_t most_bytes);

}  // namespace patchbay
