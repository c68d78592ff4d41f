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
#include "kubelet_sim/device_table.h"
#include "kubelet_sim/options.h"

namespace patchbay {

/// Names the devices of one resource in one container.
struct ContainerKey {
  std::string pod;
  std::string container;
  std::string resource;

  bool operator<(const ContainerKey& other) const {
    return std::tie(pod, container, resource) <
           std::tie(other.pod, other.container, other.resource);
  }
};

/// What a container was given.
struct ContainerDevices {
  std::vector<std::string> ids;
  v1beta1::ContainerAllocateResponse response;
};

/// All that was given and not taken back.
using PodDevices = std::map<ContainerKey, ContainerDevices>;

/// What an admission begins with.
enum class AdmissionStart {
  kWithout,  ///< no plugin's resource: the container runs without devices
  kReuse,    ///< nothing to choose: the container has its devices, or wants none
  kChoose,
};

/// The checks that come before any choice (contract 3.5). `held` is what the container has, null
/// without; `table` is null for a resource without one; `allocated` says whether any container has
/// devices of it. Fails with the kubelet's text.
Result<AdmissionStart> StartAdmission(KubeletProfile profile, const ContainerKey& key,
                                      std::size_t wanted, const ContainerDevices* held,
                                      const DeviceTable* table, bool allocated);

/// A choice, as far as the kubelet makes it before it asks the plugin what it prefers.
struct DeviceChoice {
  std::size_t wanted = 0;
  std::vector<std::string> taken;      ///< for sure; must_include of the question
  std::vector<std::string> available;  ///< what the plugin may prefer; empty: do not ask
  std::vector<std::string> rest;       ///< taken from in this order where it prefers too few
};

/// Chooses `wanted` free, healthy devices. `numa` are the NUMA nodes a topology manager hints at:
/// aligned devices come first (contract 3.2); empty means no hint. All orders are random. Fails
/// when there are too few.
Result<DeviceChoice> BeginChoice(const std::string& resource, std::size_t wanted,
                                 const DeviceTable& table, const std::set<std::string>& in_use,
                                 const std::set<std::int64_t>& numa, std::mt19937_64& random);

/// Completes the choice with what the plugin prefers: what was not available is dropped, of too
/// many an arbitrary part is taken, must_include is not verified. In random order.
std::vector<std::string> CompleteChoice(const DeviceChoice& choice,
                                        const std::vector<std::string>& preferred,
                                        std::mt19937_64& random);

}  // namespace patchbay
