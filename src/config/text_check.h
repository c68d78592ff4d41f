#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"

namespace patchbay {

/// What must be refused before the TOML parser sees it: keys of many dotted parts, whose tables it
/// nests without bound, and characters beyond ASCII outside strings and comments, some of which its
/// tables of letters do not survive. Neither is ever needed. The offset is that of the bad byte.
///
/// `text` is UTF-8. Broken TOML may be understood differently here than by the parser, but only
/// behind its first mistake, where the parser stops.
std::optional<SyntaxError> ProblemWithText(std::string_view text);

}  // namespace patchbay
