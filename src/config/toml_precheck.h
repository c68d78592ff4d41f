#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"

namespace patchbay {

/// Rejects what the TOML parser cannot handle: keys of many dotted parts, whose tables it nests
/// without limit, and characters beyond ASCII outside strings and comments, some of which are out
/// of bounds in its character tables. No configuration needs either. The offset is that of the
/// invalid byte.
///
/// `text` is UTF-8. Invalid TOML may be read differently here than by the parser, but only after
/// its first error, where the parser stops.
std::optional<SyntaxError> ProblemWithText(std::string_view text);

}  // namespace patchbay
