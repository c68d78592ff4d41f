#include "sim/kubelet/device_table.h"

#include <utility>

namespace patchbay {

void DeviceTable::Update(const std::vector<SimDevice>& list) {
  *this = DeviceTable();
  for (const SimDevice& device : list) {
    devices_[device.id] = device;
    (device.health == "Healthy" ? healthy_ : unhealthy_).insert(device.id);
  }
}

void DeviceTable::MarkUnhealthy() { unhealthy_.merge(std::exchange(healthy_, {})); }

}  // namespace patchbay
