#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "config/reporter.h"
#include "config/toml_value.h"
#include "model/template.h"
#include "model/template_shape.h"

namespace patchbay {

/// Returns whether the list at `place` can be a program and its arguments; otherwise reports why
/// not. The hint shows `example`, a line of TOML with the key.
bool CheckArgv(const std::vector<Text>& list, const SourceLocation& place, std::string_view example,
               Reporter& reporter);

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

/// Returns whether an argument names a shell or another interpreter, so that others can be code.
bool CanHaveCode(const std::vector<Text>& argv);

/// Reports what FindVariableInCode finds. `compiled` contains one template for each item of the
/// list.
void CheckVariablesOfArgv(const std::vector<Text>& list, std::span<const Template> compiled,
                          std::string_view example, Reporter& reporter);

}  // namespace patchbay
