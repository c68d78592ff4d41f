#pragma once

#include <string_view>

#include "config/reporter.h"
#include "config/toml_value.h"
#include "config/variable_scope.h"

namespace patchbay {

/// Warnings about text that has a meaning in other programs and none in Patchbay. The text is valid
/// and is used literally, which is probably not intended.

/// Reports a variable of a shell, of Kubernetes or of udev in a template: $NAME, ${name}, $(NAME).
/// The hint shows the variable of `scope` with this name, if there is one.
void WarnOfForeignVariable(const Text& text, const Scope& scope, Reporter& reporter);

/// Reports the same in a glob.
void WarnOfVariableInGlob(const Text& text, Reporter& reporter);

/// Returns whether a text is YAML, judging by its first line that is not empty and no comment.
bool LooksLikeYaml(std::string_view text);

}  // namespace patchbay
