#include "inventory/shared_nodes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

namespace patchbay {
namespace {

/// A device by its snapshot and its index there.
struct Owner {
  std::size_t snapshot = 0;
  std::size_t device = 0;
};

}  // namespace

SharedNodes FindSharedNodes(std::span<const std::shared_ptr<const Snapshot>> snapshots) {
  struct Shared {
    std::string_view path;
    std::vector<Owner> owners;
  };
  const auto lists = [](const auto& snapshot) { return snapshot && !snapshot->devices.empty(); };
  if (std::ranges::count_if(snapshots, lists) < 2)
    return {std::vector<std::size_t>(snapshots.size()), {}};
  std::unordered_map<NodeKey, Shared, NodeKeyHash> nodes;
  for (std::size_t s = 0; s < snapshots.size(); ++s) {
    if (snapshots[s] == nullptr) continue;
    const auto& devices = snapshots[s]->devices;
    for (std::size_t d = 0; d < devices.size(); ++d) {
      if (devices[d].health != Health::kHealthy) continue;
      for (const DeviceNode& node : devices[d].device->nodes) {
        Shared& shared = nodes[KeyOf(node)];
        if (shared.path.empty() || node.real_path < shared.path) shared.path = node.real_path;
        shared.owners.push_back({s, d});
      }
    }
  }
  std::vector<std::set<std::size_t>> shared(snapshots.size());
  std::map<std::pair<std::size_t, std::size_t>, std::string_view> examples;
  for (const auto& [key, node] : nodes) {
    const auto& [path, all] = node;
    // Ordered by snapshot, so that the first and the last differ if there are two.
    if (all.front().snapshot == all.back().snapshot) continue;
    for (const Owner& owner : all) {
      shared[owner.snapshot].insert(owner.device);
      if (owner.snapshot == all.front().snapshot) continue;
      auto& example = examples[{all.front().snapshot, owner.snapshot}];
      if (example.empty() || path < example) example = path;
    }
  }
  SharedNodes result;
  for (const auto& devices : shared) result.devices.push_back(devices.size());
  for (const auto& [pair, path] : examples) {
    result.pairs.push_back({pair.first, pair.second, std::string(path)});
  }
  return result;
}

}  // namespace patchbay
