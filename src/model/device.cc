#include "model/device.h"

#include <algorithm>
#include <functional>

#include "base/format.h"

namespace patchbay {

std::uint64_t NumberOf(const DeviceNode& node) {
  if (node.type != FileType::kCharacter && node.type != FileType::kBlock) return 0;
  const std::uint64_t type = node.type == FileType::kBlock ? 2 : 1;
  return type << 62U | std::uint64_t{node.major} << 32U | node.minor;
}

NodeKey KeyOf(const DeviceNode& node) {
  const std::uint64_t number = NumberOf(node);
  return {number, number == 0 ? node.real_path : std::string()};
}

bool IsSameInterface(const NetInterface& a, const NetInterface& b) {
  return a.bus_device == b.bus_device && a.dev_port == b.dev_port && a.dev_id == b.dev_id;
}

bool IsAway(const Device& device) { return device.interface && device.interface->is_away; }

std::string_view InterfaceNameOf(const Device& device) {
  const auto name = std::ranges::find(device.values, "INTERFACE", &NamedValues::value_type::first);
  return name == device.values.end() ? "" : std::string_view(name->second);
}

std::vector<NodeKey> HostKeysOf(const Device& device) {
  std::vector<NodeKey> keys;
  if (device.nodes.empty() || device.nodes.front().real_path.starts_with("/dev/vfio/")) {
    std::string path;
    const std::string_view interface = InterfaceNameOf(device);
    // While it is away, another interface can have its name.
    if (!interface.empty() && !IsAway(device)) path = Format("/sys/class/net/{}", interface);
    for (const auto& [name, value] : device.values) {
      if (name == "DEVPATH" && path.empty()) path = "/sys" + value;
    }
    keys.push_back({0, path});
  }
  for (const DeviceNode& node : device.nodes) keys.push_back(KeyOf(node));
  return keys;
}

std::size_t NodeKeyHash::operator()(const NodeKey& key) const {
  return std::hash<std::uint64_t>()(key.number) ^ std::hash<std::string>()(key.path);
}

std::string_view Name(Health health) {
  return health == Health::kHealthy ? "Healthy" : "Unhealthy";
}

}  // namespace patchbay
