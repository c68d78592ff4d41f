#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace patchbay {

/// The maximum size of the output of a discovery command in bytes.
inline constexpr std::size_t kMaxCommandOutput = 4 * 1024 * 1024;

/// A device in the output of a command. All texts are UTF-8 without control characters.
struct CommandEntry {
  std::string id;                  ///< 1 to 4,096 bytes; not unique
  std::vector<std::string> paths;  ///< absolute, normalized, unique; can be empty
  std::optional<int> numa_node;    ///< 0 to 63; absent for -1 and null
  /// Sorted by name; names are unique, and none is a built-in variable.
  std::vector<std::pair<std::string, std::string>> vars;
  std::string unhealthy;  ///< why the device is unhealthy; empty if it is healthy
};

/// Why an entry is rejected.
struct CommandProblem {
  std::size_t entry = 0;  ///< the number of the entry, from 1
  std::string id;         ///< empty if the entry has none
  std::string message;    ///< entry 3 has no "id"; print …
};

struct CommandList {
  std::vector<CommandEntry> entries;
  std::vector<CommandProblem> problems;
};

/// Parses the output of a discovery command, a JSON array of
/// `{"id": "a", "paths": ["/dev/a"], "numa_node": 0, "vars": {"name": "text"}, "healthy": false,
/// "reason": "text"}`. Only "id" is required; the value of a variable can also be a number or a
/// boolean, and the reason of a healthy device is ignored. An error in an entry
/// rejects that entry. Fails with kInvalid if the output cannot be parsed; the message has the
/// position and what to print instead. Accepts any bytes, in linear memory and time. Pure.
Result<CommandList> ParseCommandOutput(std::string_view text);

}  // namespace patchbay
