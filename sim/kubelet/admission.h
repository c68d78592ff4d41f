#pragma once

#include <cstddef>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "deviceplugin.pb.h"
#include "sim/kubelet/device_table.h"
#include "sim/kubelet/options.h"

namespace patchbay {

/// Identifies one resource of one container.
struct ContainerKey {
  std::string pod;
  std::string container;
  std::string resource;

  bool operator<(const ContainerKey& other) const {
    return std::tie(pod, container, resource) <
           std::tie(other.pod, other.container, other.resource);
  }
};

/// The devices that were allocated to a container.
struct ContainerDevices {
  std::vector<std::string> ids;
  v1beta1::ContainerAllocateResponse response;
};

/// All current allocations.
using PodDevices = std::map<ContainerKey, ContainerDevices>;

/// The outcome of the checks before an allocation.
enum class AdmissionStart {
  kWithout,  ///< not a resource of a plugin: the container runs without devices
  kReuse,    ///< the container already has its devices, or requests none
  kChoose,
};

/// Performs the checks before an allocation, like devicesToAllocate in manager.go of the kubelet's
/// device manager. `held` is the current allocation of the container, or null; `table` is null if
/// the resource has none; `allocated` is whether any container has devices of the resource. Fails
/// with the error message of the kubelet.
Result<AdmissionStart> StartAdmission(KubeletProfile profile, const ContainerKey& key,
                                      std::size_t wanted, const ContainerDevices* held,
                                      const DeviceTable* table, bool allocated);

/// The selection of devices before GetPreferredAllocation.
struct DeviceChoice {
  std::size_t wanted = 0;
  std::vector<std::string> taken;      ///< selected; must_include of the request
  std::vector<std::string> available;  ///< available devices of the request; empty: no request
  std::vector<std::string> rest;       ///< used in this order if the plugin prefers too few
};

/// Selects `wanted` free, healthy devices. `numa` are the NUMA nodes of a hint of the topology
/// manager, whose devices come first; empty means no hint. All orders are random. Fails if there
/// are too few devices.
Result<DeviceChoice> BeginChoice(const std::string& resource, std::size_t wanted,
                                 const DeviceTable& table, const std::set<std::string>& in_use,
                                 const std::set<std::int64_t>& numa, std::mt19937_64& random);

/// Completes the selection with the preferred devices of the plugin. Like the kubelet, ignores IDs
/// that were not available, uses an arbitrary part of too many, and does not verify must_include.
/// The order is random.
std::vector<std::string> CompleteChoice(const DeviceChoice& choice,
                                        const std::vector<std::string>& preferred,
                                        std::mt19937_64& random);

}  // namespace patchbay
