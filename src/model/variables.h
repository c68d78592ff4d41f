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

/// The origin of the value of a variable. It determines how a template may use the variable: text
/// from a device is data, and cannot select a path, a variable or a program.
enum class Origin {
  kConfiguration,  ///< the configuration, a number from the kernel, or an ID, which is always safe
  kNode,           ///< the path that matched, or the path that it resolves to; absolute
  kMatched,        ///< a part of that path: its last component, or a named group of the regex
  kDevice,         ///< text from the device, udev or a command
};

/// A variable that templates can use.
struct Variable {
  std::string name;
  VariableType type = VariableType::kText;
};

/// Returns the variables that devices of `match` can have, except those of CanProvide. Includes
/// optional groups of a regex, which are missing only on single devices.
std::vector<Variable> SuppliedBy(const MatchSpec& match);

/// Returns whether the variable exists only for devices with a node.
bool IsNodeVariable(std::string_view name);

/// Returns whether a device of `match` may have a variable with a name that is not known in
/// advance: a udev property, which begins with a capital letter, or a variable that a command
/// prints, which can have any name. The type of such variables is kText.
bool CanProvide(const MatchSpec& match, std::string_view name);

/// Returns the origin of a variable by its name alone. A named group counts as kDevice, because the
/// device may have a variable with the same name.
Origin OriginOf(std::string_view name);

/// Returns the origin of a variable for devices of `match`. A named group is kMatched. The ID is
/// kMatched if it is made only of the path or of values that the device does not control, and
/// kDevice otherwise.
Origin OriginOf(std::string_view name, const MatchSpec& match);

/// The value of a variable and its origin. A view, valid as long as Variables is.
struct VariableValue {
  FormatValue value;
  Origin origin = Origin::kDevice;
};

/// The variables of a device in a container.
///
/// A view, valid as long as the device, the node and the strings that it refers to.
struct Variables {
  std::string_view resource;
  std::string_view node_name;  ///< the name of the Kubernetes node
  const Device* device = nullptr;
  const DeviceNode* node = nullptr;  ///< the node of `path` and the related variables; may be null
  std::string_view id;               ///< as advertised, with the suffix of the replica
  std::int64_t index = 0;
  std::int64_t slot = 0;
  std::int64_t replica = 0;

  /// Returns the value of `name`, or nothing if this device has none. Built-in variables have
  /// precedence, then come the captures of the node, the values of the node, those of the device,
  /// and those of its other nodes, in their order.
  std::optional<VariableValue> Lookup(std::string_view name) const;
  /// Returns the value of Lookup without its origin.
  std::optional<FormatValue> Find(std::string_view name) const;
};

/// Returns variables with `device` and its first node. The caller sets the other fields.
Variables VariablesOf(const Device& device);
/// Returns the variables of a device outside a container; `slot`, `replica` and `index` are 0.
Variables VariablesOf(const Device& device, std::string_view resource, std::string_view node_name);

}  // namespace patchbay
