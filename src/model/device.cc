#include "model/device.h"

#include <functional>

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

std::size_t NodeKeyHash::operator()(const NodeKey& key) const {
  return std::hash<std::uint64_t>()(key.number) ^ std::hash<std::string>()(key.path);
}

std::string_view Name(Health health) {
  return health == Health::kHealthy ? "Healthy" : "Unhealthy";
}

}  // namespace patchbay
