#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "model/device.h"

namespace patchbay {

struct MatchSpec;

enum class VariableType { kText, kInteger };

/// A name that templates may use.
struct Variable {
  std::string name;
  VariableType type = VariableType::kText;
};

/// The names that a device found by `match` can supply. A capture that takes no part in some
/// matches counts: it is missing on single devices only.
std::vector<Variable> SuppliedBy(const MatchSpec& match);

/// Whether only a device that has a node has the variable of this name.
bool SpeaksOfNode(std::string_view name);

/// Whether a device found by `match` may have a variable of a name that nobody can list: udev's
/// properties, which begin with a capital letter, and those that a command prints, which may have
/// any name. Such variables are text.
bool MaySupply(const MatchSpec& match, std::string_view name);

/// The variables of one device as one container sees it.
///
/// A view: valid as long as the device, the node and the strings it was made from.
struct Variables {
  std::string_view resource;
  std::string_view node_name;  ///< of the Kubernetes node
  const Device* device = nullptr;
  const DeviceNode* node = nullptr;  ///< which node `path` and its kin speak of; may be null
  std::string_view id;               ///< as advertised, with the suffix of a replica
  std::int64_t index = 0;
  std::int64_t slot = 0;
  std::int64_t replica = 0;

  /// The value of `name`; nothing when this device has none.
  std::optional<FormatValue> Find(std::string_view name) const;
};

/// Those of a device and its first node; the rest is to be filled in.
Variables VariablesOf(const Device& device);
/// All that a device has without a container.
Variables VariablesOf(const Device& device, std::string_view resource, std::string_view node_name);

}  // namespace patchbay
