#include "dra/device_health.h"

#include <string>
#include <utility>

#include "dra/device_name.h"

namespace patchbay {

PoolHealth HealthOfPool(const NamedDevices& devices, std::string_view node_name) {
  const Snapshot& snapshot = devices.snapshot();
  PoolHealth health{PoolName(node_name, snapshot.spec->name), {}};
  health.devices.reserve(snapshot.devices.size());
  for (const ListedDevice& listed : snapshot.devices) {
    std::string name = SliceDeviceName(listed.device->id);
    if (devices.Find(name) != &listed) continue;  // another device has the name
    health.devices.push_back({std::move(name), listed.health, HealthMessage(listed.reason)});
  }
  return health;
}

}  // namespace patchbay
