#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay {

/// The names that a regular expression of Go or RE2 matches. As in a search, an expression without
/// anchors also matches a part of a name.
struct NamesOfRegex {
  std::vector<std::string> names = {};  ///< sorted, each once
  bool is_anchored = false;             ///< at both ends, so it does not match a part of a name
  bool has_numbers = false;  ///< digits repeat without a limit; only the shortest are listed
  bool is_open = false;      ///< it also matches names that are not listed
};

/// Lists the names that the expression matches, at most kMaxNames. A digit that repeats without a
/// limit is listed as 0 to 9; other unlimited repetitions have the minimum length. Fails if the
/// syntax is invalid or not supported, or if there are no names or too many.
Parsed<NamesOfRegex> ListNamesOf(std::string_view regex);

inline constexpr std::size_t kMaxNames = 100;

}  // namespace patchbay
