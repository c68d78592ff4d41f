#include "dra/server_features.h"

#include <algorithm>

namespace patchbay {

ServerFeatures FeaturesOf(const ResourceSlice& sent, const ResourceSlice& stored) {
  ServerFeatures features;
  for (const SliceDevice& device : sent.devices) {
    const auto other = std::ranges::find(stored.devices, device.name, &SliceDevice::name);
    if (other == stored.devices.end()) continue;
    if (!device.taints.empty() && other->taints.empty()) features.taints = false;
    const bool lost_sharing =
        device.allow_multiple_allocations && !other->allow_multiple_allocations;
    const bool lost_policy =
        device.slots && device.slots->has_policy && other->slots && !other->slots->has_policy;
    if (lost_sharing || lost_policy) features.shared_devices = false;
  }
  return features;
}

ResourceSlice FeatureSample(const std::string& pool) {
  SliceDevice device{.name = "sample"};
  device.slots = SlotCapacity{.slots = 2};
  device.allow_multiple_allocations = true;
  device.taints = {{.key = std::string(kUnhealthyTaint)}};
  return {.pool = pool, .devices = {std::move(device)}};
}

}  // namespace patchbay
