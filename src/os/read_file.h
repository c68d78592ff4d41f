#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace patchbay {

/// A snapshot of a file.
struct FileContent {
  std::string text;
  bool is_being_written = false;  ///< open for writing, so the text may be incomplete
};

/// Reads a file to its end, or slightly more than `max_bytes`. During the call no process can open
/// the file for writing if the system supports leases on it: on local file systems, for files owned
/// by the user of this process. Fails with the error of the system call. Can block.
Result<FileContent> ReadFileContent(const std::string& path, std::size_t max_bytes);

}  // namespace patchbay
