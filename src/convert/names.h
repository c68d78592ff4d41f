#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay {

/// Names that a regular expression of Go or RE2 matches somewhere, as when it is searched for.
struct NamesOfRegex {
  std::vector<std::string> names = {};  ///< sorted, each once
  bool is_anchored = false;             ///< at both ends: it matches nothing that only holds a name
  bool has_numbers = false;  ///< of numbers of any length those of one digit are written out
  bool is_open = false;      ///< it matches more names, which nobody can foresee
};

/// Writes out what the expression matches: at most kMaxNames. Digits that repeat are written out
/// as 0 to 9, other repetitions as few times as they may. Fails where it is not a regular
/// expression, or nothing or too much would be written.
Parsed<NamesOfRegex> WriteOut(std::string_view regex);

inline constexpr std::size_t kMaxNames = 100;

}  // namespace patchbay
