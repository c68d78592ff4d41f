#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "dra/wanted_pool.h"
#include "model/device.h"

namespace patchbay {

/// The health of one device, as the kubelet writes it to the status of a pod.
struct DeviceHealth {
  std::string device;  ///< its name in slices
  Health health = Health::kHealthy;
  std::string message = {};  ///< for the status; see HealthMessage
  bool operator==(const DeviceHealth&) const = default;
};

/// The health of the devices of one pool.
struct PoolHealth {
  std::string pool;
  std::vector<DeviceHealth> devices;
  bool operator==(const PoolHealth&) const = default;
};

/// The health of all devices of a driver. The kubelet regards devices that are not in it, or whose
/// time is 30 seconds old by its own clock, as unknown.
using HealthList = std::vector<PoolHealth>;

/// The maximum length of a message in bytes; the kubelet truncates longer ones.
inline constexpr std::size_t kMaxHealthMessage = 1024;

/// Returns a text from outside, such as the output of a probe, as a message: printable UTF-8 of at
/// most kMaxHealthMessage bytes. A longer text ends with "…".
std::string HealthMessage(std::string_view text);

/// Returns the health of all devices of a resource that have a name, also of missing ones, in the
/// order of the snapshot. The message of an unhealthy device is the reason. Evicts no pod; see
/// kUnhealthyTaint for that. Pure.
PoolHealth HealthOfPool(const NamedDevices& devices, std::string_view node_name);

/// Shortens a list so that its message has at most `max_bytes`: the kubelet receives at most 4 MiB.
/// Messages are removed first, then devices are left out, healthy ones before the others. Returns
/// the number of devices that were left out.
std::size_t FitHealth(HealthList& list, std::size_t max_bytes = 3'500'000);

}  // namespace patchbay
