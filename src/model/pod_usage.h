#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <set>
#include <string>

namespace patchbay {

/// A container that a device was given to, by the names that Kubernetes has for it.
struct Holder {
  std::string pod_namespace;
  std::string pod;
  std::string container;

  auto operator<=>(const Holder&) const = default;  // NOLINT(modernize-use-nullptr): for its own 0
};

/// Who holds the devices of one resource, by the ID that the kubelet sees. No entry without a
/// holder.
using DeviceHolders = std::map<std::string, std::set<Holder>>;

/// The same of all resources of the node, by name; what the kubelet last said.
using Holders = std::map<std::string, DeviceHolders>;

/// What of one resource is in use.
struct PodUsage {
  DeviceHolders holders = {};  ///< by the ID of the device, whatever its replica
  std::size_t units = 0;       ///< how many of what the kubelet sees
  bool operator==(const PodUsage&) const = default;
};

}  // namespace patchbay
