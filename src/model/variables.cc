// Variables come from two places. Built-in variables are rows of kBuiltins, which specify which
// matches supply them and how to read their values. All other variables are named values of the
// node or of the device: named groups, values from sysfs, udev properties and variables of a
// command.
//
// `check` uses SuppliedBy, CanProvide and OriginOf, without a device; rendering uses Lookup. A
// value has the same origin in both cases, except that OriginOf(name) counts a named group as
// kDevice.

#include "model/variables.h"

#include <algorithm>

#include "base/path.h"
#include "model/spec.h"

namespace patchbay {
namespace {

using Supplied = bool (*)(const MatchSpec&);
using Finder = std::optional<FormatValue> (*)(const Variables&);

template <auto Get>
std::optional<FormatValue> OfNode(const Variables& v) {
  if (v.node == nullptr) return std::nullopt;
  return Get(*v.node);
}

bool ByAll(const MatchSpec&) { return true; }
bool ByHost(const MatchSpec& m) { return !std::holds_alternative<CountSource>(m.source); }

/// A built-in variable.
struct Builtin {
  std::string_view name;
  VariableType type;
  Origin origin;
  Supplied supplied;  ///< returns whether devices of a match can have it
  Finder find;
};

/// Values that discovery/device_ancestry.h reads from sysfs, of the device or of an ancestor.
constexpr std::string_view kSysfsVariables[] = {
    "driver",   "parent",     "usb_vendor", "usb_product",   "usb_serial",
    "usb_port", "usb_bus",    "usb_device", "usb_interface", "pci_address",
    "pci_slot", "pci_vendor", "pci_device", "pcie_root",
};

constexpr Builtin kBuiltins[] = {
    {"id", VariableType::kText, Origin::kConfiguration, ByAll,
     [](const Variables& v) -> std::optional<FormatValue> { return v.id; }},
    {"resource", VariableType::kText, Origin::kConfiguration, ByAll,
     [](const Variables& v) -> std::optional<FormatValue> { return v.resource; }},
    {"node_name", VariableType::kText, Origin::kConfiguration, ByAll,
     [](const Variables& v) -> std::optional<FormatValue> { return v.node_name; }},
    {"index", VariableType::kInteger, Origin::kConfiguration, ByAll,
     [](const Variables& v) -> std::optional<FormatValue> { return v.index; }},
    {"slot", VariableType::kInteger, Origin::kConfiguration, ByAll,
     [](const Variables& v) -> std::optional<FormatValue> { return v.slot; }},
    {"replica", VariableType::kInteger, Origin::kConfiguration, ByAll,
     [](const Variables& v) -> std::optional<FormatValue> { return v.replica; }},
    {"path", VariableType::kText, Origin::kNode, CanHaveNodes,
     OfNode<[](const DeviceNode& n) { return FormatValue(n.path); }>},
    {"real_path", VariableType::kText, Origin::kNode, CanHaveNodes,
     OfNode<[](const DeviceNode& n) { return FormatValue(n.real_path); }>},
    {"name", VariableType::kText, Origin::kMatched, CanHaveNodes,
     OfNode<[](const DeviceNode& n) { return FormatValue(BaseName(n.path)); }>},
    {"major", VariableType::kInteger, Origin::kConfiguration, CanHaveNodes,
     OfNode<[](const DeviceNode& n) { return FormatValue(std::int64_t{n.major}); }>},
    {"minor", VariableType::kInteger, Origin::kConfiguration, CanHaveNodes,
     OfNode<[](const DeviceNode& n) { return FormatValue(std::int64_t{n.minor}); }>},
    {"numa_node", VariableType::kInteger, Origin::kConfiguration, ByHost,
     [](const Variables& v) -> std::optional<FormatValue> {
       if (v.device == nullptr || !v.device->numa_node) return std::nullopt;
       return std::int64_t{*v.device->numa_node};
     }},
};

const std::string* FindValue(const NamedValues& values, std::string_view name) {
  const auto found =
      std::ranges::find_if(values, [&](const auto& value) { return value.first == name; });
  return found == values.end() ? nullptr : &found->second;
}

}  // namespace

std::vector<Variable> SuppliedBy(const MatchSpec& match) {
  std::vector<Variable> supplied;
  for (const Builtin& builtin : kBuiltins) {
    if (!builtin.supplied(match)) continue;
    supplied.push_back({std::string(builtin.name), builtin.type});
  }
  if (const auto* regex = std::get_if<RegexSource>(&match.source)) {
    for (const std::string& name : regex->regex.capture_names()) {
      supplied.push_back({name, VariableType::kText});
    }
  }
  if (UsesSysfs(match)) {
    for (const std::string_view name : kSysfsVariables) {
      supplied.push_back({std::string(name), VariableType::kText});
    }
  }
  return supplied;
}

bool IsNodeVariable(std::string_view name) {
  return std::any_of(std::begin(kBuiltins), std::end(kBuiltins), [&](const Builtin& builtin) {
    return builtin.name == name && builtin.supplied == CanHaveNodes;
  });
}

bool CanProvide(const MatchSpec& match, std::string_view name) {
  if (std::holds_alternative<CommandSource>(match.source)) return true;
  return UsesSysfs(match) && !name.empty() && name.front() >= 'A' && name.front() <= 'Z';
}

Origin OriginOf(std::string_view name) {
  for (const Builtin& builtin : kBuiltins) {
    if (builtin.name == name) return builtin.origin;
  }
  return Origin::kDevice;
}

Origin OriginOf(std::string_view name, const MatchSpec& match) {
  const auto* regex = std::get_if<RegexSource>(&match.source);
  if (name != "id") {
    const bool is_group =
        regex != nullptr && std::ranges::count(regex->regex.capture_names(), name) > 0;
    return is_group ? Origin::kMatched : OriginOf(name);
  }
  if (!match.group_by.empty()) return OriginOf(match.group_by, match);
  if (!match.id) {
    const bool by_path = regex != nullptr || std::holds_alternative<PathSource>(match.source);
    return by_path || !CanHaveNodes(match) ? Origin::kMatched : Origin::kDevice;
  }
  for (const Template::Field& field : match.id->fields()) {
    if (field.name != "id" && OriginOf(field.name, match) == Origin::kDevice)
      return Origin::kDevice;
  }
  return Origin::kMatched;
}

std::optional<VariableValue> Variables::Lookup(std::string_view name) const {
  for (const Builtin& builtin : kBuiltins) {
    if (builtin.name != name) continue;
    const auto value = builtin.find(*this);
    if (!value) return std::nullopt;
    return VariableValue{*value, builtin.origin};
  }
  const std::pair<const NamedValues*, Origin> sources[] = {
      {node != nullptr ? &node->captures : nullptr, Origin::kMatched},
      {node != nullptr ? &node->values : nullptr, Origin::kDevice},
      {device != nullptr ? &device->values : nullptr, Origin::kDevice},
  };
  for (const auto& [values, origin] : sources) {
    const std::string* value = values == nullptr ? nullptr : FindValue(*values, name);
    if (value != nullptr) return VariableValue{*value, origin};
  }
  if (device == nullptr) return std::nullopt;
  for (const DeviceNode& other : device->nodes) {
    const std::string* value = FindValue(other.values, name);
    if (value != nullptr) return VariableValue{*value, Origin::kDevice};
  }
  return std::nullopt;
}

std::optional<FormatValue> Variables::Find(std::string_view name) const {
  const auto found = Lookup(name);
  if (!found) return std::nullopt;
  return found->value;
}

Variables VariablesOf(const Device& device) {
  Variables variables;
  variables.device = &device;
  variables.node = device.nodes.empty() ? nullptr : &device.nodes.front();
  return variables;
}

Variables VariablesOf(const Device& device, std::string_view resource, std::string_view node_name) {
  Variables variables = VariablesOf(device);
  variables.resource = resource;
  variables.node_name = node_name;
  variables.id = device.id;
  return variables;
}

}  // namespace patchbay
