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

/// Where the value of a variable comes from. This decides what a template may make of it: the text
/// of a device is data, and names no path, variable or program.
enum class Origin {
  kConfiguration,  ///< the configuration, a number of the kernel, or an ID, which is always safe
  kNode,           ///< the node that was matched, or what it leads to: an absolute path
  kMatched,        ///< a part of that path: its name, or a group of the configuration's own regex
  kDevice,         ///< text that the device, udev or a command chose
};

/// A name that templates may use.
struct Variable {
  std::string name;
  VariableType type = VariableType::kText;
};

/// The names that a device found by `match` can supply. A capture that takes no part in some
/// matches counts: it is missing on single devices only.
std::vector<Variable> SuppliedBy(const MatchSpec& match);

/// Whether only a device that has a node has the variable of this name.
bool IsNodeVariable(std::string_view name);

/// Whether a device found by `match` may have a variable of a name that nobody can list: udev's
/// properties, which begin with a capital letter, and those that a command prints, which may have
/// any name. Such variables are text.
bool CanProvide(const MatchSpec& match, std::string_view name);

/// The origin of a variable as far as its name says it. A named group counts as kDevice, since the
/// device may have a variable of the same name.
Origin OriginOf(std::string_view name);

/// The same where it is known what finds the device: named groups are of the configuration, and an
/// ID is of the device unless the match makes it of what the configuration decides.
Origin OriginOf(std::string_view name, const MatchSpec& match);

/// What a variable of one device holds; a view of the device.
struct VariableValue {
  FormatValue value;
  Origin origin = Origin::kDevice;
};

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

  /// The value of `name`; nothing when this device has none. What every device has comes first,
  /// then the captures of the node, then what is known of the node and of the device.
  std::optional<VariableValue> Lookup(std::string_view name) const;
  /// The same without its origin.
  std::optional<FormatValue> Find(std::string_view name) const;
};

/// Those of a device and its first node; the rest is to be filled in.
Variables VariablesOf(const Device& device);
/// All that a device has without a container.
Variables VariablesOf(const Device& device, std::string_view resource, std::string_view node_name);

}  // namespace patchbay
