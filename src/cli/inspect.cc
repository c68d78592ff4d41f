#include "cli/inspect.h"

#include "inventory/inventory.h"

namespace patchbay {

std::vector<std::shared_ptr<const Snapshot>> InspectHost(const Model& model,
                                                         const std::string& node_name) {
  const HostRoot host(model.daemon.host_root);
  std::vector<std::shared_ptr<const Snapshot>> snapshots;
  for (const ResourceSpec& spec : model.resources) {
    if (!IsForNode(spec, node_name)) continue;
    Inventory inventory(std::make_shared<const ResourceSpec>(spec), node_name);
    inventory.Advance(Discover(spec, host, node_name), std::chrono::steady_clock::now());
    snapshots.push_back(inventory.snapshot());
  }
  return snapshots;
}

std::vector<std::string> HealthyUnits(const Snapshot& snapshot, std::size_t count) {
  std::vector<std::string> ids;
  for (const ListedDevice& listed : snapshot.devices) {
    if (listed.health != Health::kHealthy) continue;
    for (int replica = 0; replica < snapshot.spec->replicas && ids.size() < count; ++replica) {
      ids.push_back(AdvertisedId(*snapshot.spec, listed.device->id, replica));
    }
  }
  return ids;
}

}  // namespace patchbay
