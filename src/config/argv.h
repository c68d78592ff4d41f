#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "config/variable_scope.h"
#include "model/template.h"
#include "model/template_shape.h"

namespace patchbay {

/// Returns the items of `command` of a section if they can be a program and its arguments;
/// otherwise reports why not and returns none.
std::vector<Text> ReadArgv(const Section& section, Reporter& reporter);

/// Compiles the items of `command` as templates. Reports variables that would choose the program or
/// become part of its code. Without one template for each item, there has been an error.
std::vector<Template> CompileArgv(const Section& section, const Scope& scope, Reporter& reporter);

/// A variable whose value would determine which code runs.
struct VariableInCode {
  std::size_t argument = 0;  ///< index in the command
  /// The program that would run the value as code; empty if the value is the program.
  std::string_view runner = {};
  bool takes_none = false;  ///< the program passes its arguments to a shell
};

/// Returns the first variable of a command that could become code, or none. The program itself has
/// no variable. Behind an interpreter (sh, awk, python3, …), which can be any argument, a variable
/// must be a whole argument, behind a literal script and not directly behind an option. Behind a
/// program that passes its arguments to a shell (ssh, su, watch, …), there are no variables.
std::optional<VariableInCode> FindVariableInCode(std::span<const TemplateShape> argv);

}  // namespace patchbay
