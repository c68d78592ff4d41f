#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"

namespace patchbay {

/// Rejects text that is not UTF-8, and text that the TOML parser cannot handle safely: keys with
/// many dotted parts, for which it nests tables without limit, and non-ASCII characters outside
/// strings and comments, some of which are out of bounds in its character tables. No configuration
/// needs either. The offset in the result is that of the invalid byte.
///
/// Invalid TOML may be read differently here than by the parser, but only after its first error,
/// where the parser stops.
std::optional<SyntaxError> ProblemWithText(std::string_view text);

}  // namespace patchbay
