#pragma once

#include <optional>
#include <string>
#include <vector>

namespace patchbay {

/// The common structure of sets of paths, such as {controlC0, pcmC0D0c} and {controlC1, pcmC1D0c}.
/// The sets have the same size. The nth paths of the sets differ only in parts that also differ, in
/// the same way, in the first path of each set.
struct NumberedSets {
  std::vector<std::string> templates = {};    ///< one for each n, with variables {n1}, {n2}, …
  std::vector<std::string> expressions = {};  ///< one for each set: a regex for its first path
  std::size_t first = 0;                      ///< index of the first path, in the order of IdLess
};

/// Returns the common structure of `sets`, if they have one. Neither `sets` nor a set may be empty.
std::optional<NumberedSets> FindNumberedSets(const std::vector<std::vector<std::string>>& sets);

}  // namespace patchbay
