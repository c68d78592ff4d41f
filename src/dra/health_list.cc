#include "dra/health_list.h"

#include <utility>

#include "base/escape.h"
#include "dra/device_name.h"

namespace patchbay {
namespace {

constexpr std::string_view kEllipsis = "…";
/// The tags, lengths and numbers of one device in the message, at most.
constexpr std::size_t kBytesPerDevice = 48;

std::size_t BytesOf(const PoolHealth& pool, const DeviceHealth& device) {
  return kBytesPerDevice + pool.pool.size() + device.device.size() + device.message.size();
}

std::size_t BytesOf(const HealthList& list) {
  std::size_t bytes = 0;
  for (const PoolHealth& pool : list) {
    for (const DeviceHealth& device : pool.devices) bytes += BytesOf(pool, device);
  }
  return bytes;
}

}  // namespace

std::string HealthMessage(std::string_view text) {
  std::string printable = Printable(text.substr(0, kMaxHealthMessage + 1));
  if (printable.size() <= kMaxHealthMessage) return printable;
  return Truncate(printable, kMaxHealthMessage - kEllipsis.size());
}

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

std::size_t FitHealth(HealthList& list, std::size_t max_bytes) {
  if (BytesOf(list) <= max_bytes) return 0;
  for (PoolHealth& pool : list) {
    for (DeviceHealth& device : pool.devices) device.message.clear();
  }
  std::size_t bytes = BytesOf(list);
  std::size_t left_out = 0;
  for (const bool is_healthy : {true, false}) {
    for (PoolHealth& pool : list) {
      left_out += std::erase_if(pool.devices, [&](const DeviceHealth& device) {
        if (bytes <= max_bytes || (device.health == Health::kHealthy) != is_healthy) return false;
        bytes -= BytesOf(pool, device);
        return true;
      });
    }
  }
  return left_out;
}

}  // namespace patchbay
