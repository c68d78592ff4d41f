#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace patchbay {

/// More than this a discovery command may not print.
inline constexpr std::size_t kMaxCommandOutput = 4 * 1024 * 1024;

/// A device as a command printed it. All texts are UTF-8 without control characters.
struct CommandEntry {
  std::string id;                  ///< 1 to 4,096 bytes; not unique
  std::vector<std::string> paths;  ///< absolute, as short as can be, no two alike; may be none
  std::optional<int> numa_node;    ///< 0 to 63; -1, null and nothing are the same
  /// In the order of the command; no name twice, and none that every device has of its own.
  std::vector<std::pair<std::string, std::string>> vars;
};

/// Why an entry is not used.
struct CommandProblem {
  std::size_t entry = 0;  ///< which of those printed, from 1
  std::string id;         ///< empty where it has none
  std::string message;    ///< entry 3 has no "id"; print …
};

struct CommandList {
  std::vector<CommandEntry> entries;
  std::vector<CommandProblem> problems;
};

/// Reads what a discovery command printed, a JSON array of
/// `{"id": "a", "paths": ["/dev/a"], "numa_node": 0, "vars": {"name": "text"}}`, of which only "id"
/// must be there; a number or a truth value is as good as a text for a variable. A mistake within
/// an entry costs that entry. Fails with kInvalid, saying where and what to print instead, when the
/// output as a whole cannot be read. Pure; any bytes will do, in memory and time linear in them.
Result<CommandList> ParseCommandOutput(std::string_view text);

}  // namespace patchbay
