#pragma once

#include <string_view>

namespace patchbay {

/// The file types that Patchbay distinguishes, as reported by lstat(2).
enum class FileType { kCharacter, kBlock, kRegular, kDirectory, kSymlink, kOther };

/// Returns a noun phrase for messages: "a character device", "a directory", …
constexpr std::string_view Describe(FileType type) {
  switch (type) {
    case FileType::kCharacter: return "a character device";
    case FileType::kBlock: return "a block device";
    case FileType::kRegular: return "a regular file";
    case FileType::kDirectory: return "a directory";
    case FileType::kSymlink: return "a symbolic link";
    case FileType::kOther: break;
  }
  return "a socket or a pipe";
}

}  // namespace patchbay
