#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/arguments.h"

namespace patchbay {

/// Returns the script with which a shell completes command lines. It asks `patchbay __complete`.
std::string_view CompletionScript(Shell shell);

/// The possible last words of a command line.
struct Completion {
  enum class Kind { kWords, kFiles, kDirectories };

  Kind kind = Kind::kWords;
  /// With kWords: those that begin with the last word, or with what is behind its "=", each with a
  /// description, which may be empty.
  std::vector<std::pair<std::string, std::string>> words = {};
};

/// Completes the last of `words`, which follow the name of the program. bash makes words of its own
/// of each "=". `resources_of` returns the names in a configuration; "" is the default one. Pure.
Completion Complete(
    std::vector<std::string> words, std::span<const CommandInfo> commands,
    const std::function<std::vector<std::string>(const std::string&)>& resources_of);

/// `patchbay __complete WORD...`: prints the kind, then a line for each word, with a tab before its
/// description.
int RunComplete(std::span<const char* const> words, Streams streams);

}  // namespace patchbay
