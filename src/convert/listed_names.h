#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay {

/// A name below /dev that a regular expression matches.
struct ListedName {
  std::string name;
  std::string glob = {};  ///< if the name is only the beginning: matches the paths of the nodes
  bool operator==(const ListedName&) const = default;
};

/// The names that a regular expression of Go or RE2 matches.
struct ListedNames {
  std::vector<ListedName> names = {};  ///< sorted, each once
  bool is_anchored = false;  ///< at both ends; otherwise, the expression also matches longer names
  bool has_numbers = false;  ///< of numbers of any length, only 0 to 9 are listed
};

/// Lists the names that a valid expression matches. Returns nothing if a part of the expression has
/// no equivalent in a glob, if there are too many names, or if a name begins with a wildcard.
std::optional<ListedNames> ListNames(std::string_view regex);

}  // namespace patchbay
