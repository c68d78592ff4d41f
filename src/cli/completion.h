#pragma once

#include <span>
#include <string>

#include "cli/arguments.h"

namespace patchbay {

/// Returns the script that completes commands, options and their values in a shell. It contains
/// the whole table of commands and runs no program. Resources are read from the configuration.
/// Pure.
std::string CompletionScript(Shell shell, std::span<const CommandInfo> commands);

}  // namespace patchbay
