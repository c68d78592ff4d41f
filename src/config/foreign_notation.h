#pragma once

#include <string>
#include <string_view>

#include "config/reporter.h"
#include "config/toml_value.h"
#include "config/variable_scope.h"

namespace patchbay {

/// Hints on text in the notation of another program or key. A warning is about text that is valid
/// and means something else here, which is probably not intended.

/// Reports a variable of a shell, of Kubernetes or of udev in a template: $NAME, ${name}, $(NAME).
/// The hint shows the variable of `scope` with this name, if there is one.
void WarnOfForeignVariable(const Text& text, const Scope& scope, Reporter& reporter);

/// Reports {{name}}, {{ name }} and {{ .Name }} in a template if the scope has the variable.
void WarnOfDoubledBraces(const Text& text, const Scope& scope, Reporter& reporter);

enum class GlobKind { kPath, kName };

/// Reports the first part of a valid glob that is syntax of regular expressions or, in a path,
/// HOST:CONTAINER or a variable of a shell.
void WarnOfForeignParts(const Text& glob, GlobKind kind, Reporter& reporter);

/// Returns the hint of that report for the pattern of a name, or "".
std::string_view HintOnForeignPart(std::string_view pattern);

/// Returns a hint if a regular expression has no syntax but the * of a glob, otherwise "".
std::string HintOnGlobInRegex(std::string_view regex);

/// Returns the hint on a group at the beginning of the text that RE2 does not have, or "".
std::string_view HintOnForeignGroup(std::string_view text);

/// Returns whether a text is YAML, judging by its first line that is not empty and no comment.
bool LooksLikeYaml(std::string_view text);

}  // namespace patchbay
