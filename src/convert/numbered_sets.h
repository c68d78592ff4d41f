#pragma once

#include <optional>
#include <string>
#include <vector>

namespace patchbay {

/// Sets of as many paths each, the nth of which differ only in what the first path of each set
/// shows as well: {controlC0, pcmC0D0c} and {controlC1, pcmC1D0c}.
struct NumberedSets {
  std::vector<std::string> templates = {};    ///< of the nth paths, with variables {n1}, {n2}, …
  std::vector<std::string> expressions = {};  ///< of each set: a regex for its first path
  std::size_t first = 0;                      ///< which path that is, the first by IdLess
};

/// Returns the numbered sets that `sets` form, if any. None of them is empty.
std::optional<NumberedSets> FindNumberedSets(const std::vector<std::vector<std::string>>& sets);

}  // namespace patchbay
