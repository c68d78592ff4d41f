#include "dra/device_health.h"

#include <string>
#include <utility>

#include "dra/device_name.h"

namespace patchbay {
std::vector<PublishedHealth> HealthOfPool(const NamedDevices& devices, std::string_view node_name) {
  const Snapshot& snapshot = devices.snapshot();
  const std::string pool = PoolName(node_name, snapshot.spec->name);
  std::vector<PublishedHealth> health;
  health.reserve(snapshot.devices.size());
  for (const ListedDevice& listed : snapshot.devices) {
    std::string name = SliceDeviceName(listed.device->id);
    if (devices.Find(name) == nullptr) continue;
    health.push_back({pool, std::move(name), listed.health, HealthMessage(listed.reason)});
  }
  return health;
}

}  // namespace patchbay
