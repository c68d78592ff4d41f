#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "model/template_shape.h"

namespace patchbay {

/// A variable at a position where its value determines which code runs.
struct VariableInProgram {
  std::size_t argument = 0;  ///< index in the command
  /// The interpreter whose code or script file it is; empty if it selects the program itself.
  std::string_view interpreter = {};
};

/// Returns the first variable of a command that selects a program or is part of the code or the
/// script file that an interpreter runs, or none if all variables are data. Supports shells, awk,
/// sed, other common interpreters by their names, and programs that run another program, such as
/// env, nsenter and find with -exec. After an unknown program it still detects an interpreter with
/// code as an argument: x sh -c "…".
std::optional<VariableInProgram> FindVariableInProgram(std::span<const TemplateShape> argv);

}  // namespace patchbay
