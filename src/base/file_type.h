#pragma once

namespace patchbay {

/// The kinds of file that matter here, as lstat tells them.
enum class FileType { kCharacter, kBlock, kRegular, kDirectory, kSymlink, kOther };

}  // namespace patchbay
