#include "kubelet/proto_convert.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace patchbay {
namespace {

/// Returns the size of a length-delimited field with a tag of one byte.
std::size_t FieldBytes(std::size_t length) {
  std::size_t varint = 1;
  for (std::size_t rest = length >> 7; rest != 0; rest >>= 7) ++varint;
  return 1 + varint + length;
}

/// Returns the size of a TopologyInfo with one node. The node 0 is not encoded.
std::size_t TopologyBytes(int numa_node) { return FieldBytes(FieldBytes(numa_node == 0 ? 0 : 2)); }

std::size_t UnitBytes(const Snapshot& snapshot, const ListedDevice& listed, std::size_t id_length) {
  return FieldBytes(FieldBytes(id_length) + FieldBytes(Name(listed.health).size()) +
                    (snapshot.topology ? TopologyBytes(*listed.device->numa_node) : 0));
}

}  // namespace

std::vector<int> FittingUnits(const Snapshot& snapshot) {
  const int replicas = snapshot.spec->replicas;
  std::vector<int> fitting(snapshot.devices.size(), replicas);
  // An upper bound for a unit, so that most lists need no exact calculation.
  constexpr std::size_t kLargestUnit = 96;
  if (fitting.size() * static_cast<std::size_t>(replicas) * kLargestUnit <= kMaxListBytes) {
    return fitting;
  }

  std::vector<std::size_t> order(fitting.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return snapshot.devices[a].rank < snapshot.devices[b].rank;
  });
  std::size_t bytes = 0;
  for (const std::size_t place : order) {
    const ListedDevice& listed = snapshot.devices[place];
    int& count = fitting[place];
    for (count = 0; count < replicas && bytes <= kMaxListBytes; ++count) {
      const std::size_t id_length = AdvertisedId(*snapshot.spec, listed.device->id, count).size();
      bytes += UnitBytes(snapshot, listed, id_length);
      if (bytes > kMaxListBytes) break;
    }
  }
  return fitting;
}

std::size_t UnitsThatFit(const Snapshot& snapshot) {
  const std::vector<int> fitting = FittingUnits(snapshot);
  return std::accumulate(fitting.begin(), fitting.end(), std::size_t{0});
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
