#pragma once

#include <string>
#include <string_view>

#include "config/reporter.h"
#include "config/toml_value.h"
#include "config/variable_scope.h"

namespace patchbay {

/// Hints on text in the notation of another program or key. A warning is about text that is valid
/// and means something else here, which is probably not intended.

/// Reports {{name}}, {{ name }} and {{ .Name }} in a template; in an argument of a program, which
/// can have such a notation itself, only if the scope has the variable.
void WarnOfDoubledBraces(const Text& text, const Scope& scope, bool in_argv, Reporter& reporter);

/// Reports these and, also if the scope has the variable, the notation of a shell, of Kubernetes
/// and of udev: $NAME, ${name} and $(NAME).
void WarnOfForeignVariable(const Text& text, const Scope& scope, Reporter& reporter);

/// A glob for the paths that are the source of a match, for other paths, for text from a device,
/// for names of the kernel without commas, for those in which dots are usual too, or for hosts; a
/// regular expression for paths or for other text; or a path without wildcards.
enum class PatternKind { kSource, kPath, kText, kName, kDotted, kHost, kPathRegex, kRegex, kPlain };

/// Reports the first part of a valid pattern that is syntax of the other kind, of a shell or of
/// udev, or separates several patterns.
void WarnOfForeignParts(const Text& pattern, PatternKind kind, Reporter& reporter);

/// Returns the hint of that report, also for a pattern that is invalid, or `otherwise`.
std::string HintOnForeignPart(std::string_view pattern, PatternKind kind, std::string otherwise);

/// Returns the hint on a group at the beginning of the text that RE2 does not have, or "".
std::string_view HintOnForeignGroup(std::string_view text);

/// Returns whether a text is YAML, judging by its first line that is not empty and no comment.
bool LooksLikeYaml(std::string_view text);

}  // namespace patchbay
