#include "kubelet/proto_convert.h"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace patchbay {
namespace {

using google::protobuf::io::CodedOutputStream;

v1beta1::Device UnitMessage(const Snapshot& snapshot, const ListedDevice& listed, int replica) {
  v1beta1::Device unit;
  unit.set_id(AdvertisedId(*snapshot.spec, listed.device->id, replica));
  unit.set_health(std::string(Name(listed.health)));
  if (const auto& node = listed.device->numa_node; node && snapshot.topology) {
    unit.mutable_topology()->add_nodes()->set_id(*node);
  }
  return unit;
}

/// Returns the size of the unit in a list: with its tag and length.
std::size_t SizeInList(const v1beta1::Device& unit) {
  const std::size_t size = unit.ByteSizeLong();
  return 1 + CodedOutputStream::VarintSize32(static_cast<std::uint32_t>(size)) + size;
}

/// Returns how many units of each device fit into one list, by index in the snapshot.
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
    int& count = fitting[place];
    for (count = 0; count < replicas && bytes <= kMaxListBytes; ++count) {
      bytes += SizeInList(UnitMessage(snapshot, snapshot.devices[place], count));
      if (bytes > kMaxListBytes) break;
    }
  }
  return fitting;
}

}  // namespace

v1beta1::ListAndWatchResponse ListMessage(const Snapshot& snapshot) {
  v1beta1::ListAndWatchResponse message;
  const std::vector<int> fitting = FittingUnits(snapshot);
  for (std::size_t place = 0; place < fitting.size(); ++place) {
    for (int replica = 0; replica < fitting[place]; ++replica) {
      *message.add_devices() = UnitMessage(snapshot, snapshot.devices[place], replica);
    }
  }
  return message;
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
