#include "kubelet/messages.h"

#include <algorithm>
#include <utility>

namespace patchbay {
namespace {

/// Bytes of a length-delimited field whose tag takes one byte.
std::size_t FieldBytes(std::size_t length) {
  std::size_t varint = 1;
  for (std::size_t rest = length >> 7; rest != 0; rest >>= 7) ++varint;
  return 1 + varint + length;
}

/// A TopologyInfo of one node. A 0 is left out.
std::size_t TopologyBytes(int numa_node) { return FieldBytes(FieldBytes(numa_node == 0 ? 0 : 2)); }

std::size_t UnitBytes(const Snapshot& snapshot, const ListedDevice& listed, std::size_t id_length) {
  return FieldBytes(FieldBytes(id_length) + FieldBytes(Name(listed.health).size()) +
                    (snapshot.topology ? TopologyBytes(*listed.device->numa_node) : 0));
}

/// Calls `f(device, id)` for every unit in order, until it returns false.
template <class F>
void ForEachUnit(const Snapshot& snapshot, F f) {
  for (const ListedDevice& listed : snapshot.devices) {
    for (int replica = 0; replica < snapshot.spec->replicas; ++replica) {
      if (!f(listed, AdvertisedId(*snapshot.spec, listed.device->id, replica))) return;
    }
  }
}

}  // namespace

std::size_t UnitsThatFit(const Snapshot& snapshot) {
  // No unit is larger than this, so that most lists need not be measured.
  constexpr std::size_t kLargestUnit = 96;
  const std::size_t units =
      snapshot.devices.size() * static_cast<std::size_t>(snapshot.spec->replicas);
  if (units * kLargestUnit <= kMaxListBytes) return units;

  std::size_t fitting = 0, bytes = 0;
  ForEachUnit(snapshot, [&](const ListedDevice& listed, const std::string& id) {
    bytes += UnitBytes(snapshot, listed, id.size());
    if (bytes > kMaxListBytes) return false;
    ++fitting;
    return true;
  });
  return fitting;
}

v1beta1::ListAndWatchResponse ListMessage(const Snapshot& snapshot) {
  v1beta1::ListAndWatchResponse message;
  std::size_t left = UnitsThatFit(snapshot);
  message.mutable_devices()->Reserve(static_cast<int>(left));
  ForEachUnit(snapshot, [&](const ListedDevice& listed, std::string id) {
    if (left-- == 0) return false;
    v1beta1::Device& device = *message.add_devices();
    device.set_id(std::move(id));
    const std::string_view health = Name(listed.health);
    device.set_health(health.data(), health.size());
    if (snapshot.topology) {
      device.mutable_topology()->add_nodes()->set_id(*listed.device->numa_node);
    }
    return true;
  });
  return message;
}

PreferenceRequest FromMessage(const v1beta1::ContainerPreferredAllocationRequest& message) {
  return {{message.available_device_ids().begin(), message.available_device_ids().end()},
          {message.must_include_device_ids().begin(), message.must_include_device_ids().end()},
          static_cast<std::size_t>(std::max(message.allocation_size(), 0))};
}

void FillResponse(ContainerResponse response, v1beta1::ContainerAllocateResponse& message) {
  for (auto& [key, value] : response.envs) (*message.mutable_envs())[key] = std::move(value);
  for (auto& [key, value] : response.annotations) {
    (*message.mutable_annotations())[key] = std::move(value);
  }
  for (ContainerResponse::Mount& mount : response.mounts) {
    v1beta1::Mount& m = *message.add_mounts();
    m.set_container_path(std::move(mount.container_path));
    m.set_host_path(std::move(mount.host_path));
    m.set_read_only(mount.read_only);
  }
  for (ContainerResponse::DeviceSpec& device : response.devices) {
    v1beta1::DeviceSpec& d = *message.add_devices();
    d.set_container_path(std::move(device.container_path));
    d.set_host_path(std::move(device.host_path));
    d.set_permissions(std::move(device.permissions));
  }
  for (std::string& name : response.cdi_devices) {
    message.add_cdi_devices()->set_name(std::move(name));
  }
}

}  // namespace patchbay
