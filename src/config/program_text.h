#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "model/template_shape.h"

namespace patchbay {

/// A variable that stands where it would decide what is run.
struct VariableInProgram {
  std::size_t argument = 0;  ///< of the command
  std::string_view interpreter =
      {};  ///< whose program text or file it is; empty: the program itself
};

/// The first variable of a command that names a program, or is a part of the text or the file that
/// an interpreter runs; nothing where all variables are data. Knows shells, awk, sed, the usual
/// interpreters by their names, and programs that run another one, such as env, nsenter and find
/// with -exec. Behind a program that it does not know it finds an interpreter with a program text:
/// x sh -c "…".
std::optional<VariableInProgram> FindVariableInProgram(std::span<const TemplateShape> argv);

}  // namespace patchbay
