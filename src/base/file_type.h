#pragma once

#include <string_view>

namespace patchbay {

/// The kinds of file that matter here, as lstat tells them.
enum class FileType { kCharacter, kBlock, kRegular, kDirectory, kSymlink, kOther };

/// "a character device", "a directory", … for messages.
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
