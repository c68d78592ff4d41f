#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dra/attributes.h"

namespace patchbay {

/// The ResourceSlice of resource.k8s.io/v1 as plain values: the fields that Patchbay writes, from
/// kubernetes/api resource/v1/types.go. slice_json.h reads and writes them.

/// The maximum number of devices in a slice. The API server accepts 128, but 64 as soon as one of
/// them has a taint, and devices must not move to another slice at that moment.
inline constexpr std::size_t kMaxDevicesPerSlice = 64;
/// Returns the number of slices of a new pool; an empty one has one slice.
constexpr std::size_t SlicesFor(std::size_t devices) {
  return devices == 0 ? 1 : (devices + kMaxDevicesPerSlice - 1) / kMaxDevicesPerSlice;
}

enum class TaintEffect { kNoSchedule, kNoExecute };
/// The values in the API, in the order of TaintEffect.
inline constexpr std::string_view kTaintEffectNames[] = {"NoSchedule", "NoExecute"};
constexpr std::string_view Name(TaintEffect effect) {
  return kTaintEffectNames[static_cast<std::size_t>(effect)];
}

/// The device fails its probe, or a node that it needs is missing.
inline constexpr std::string_view kUnhealthyTaint = "patchbay.dev/unhealthy";
/// The device was removed from the host while a claim was allocated to it.
inline constexpr std::string_view kGoneTaint = "patchbay.dev/gone";

struct DeviceTaint {
  std::string key;
  std::string value = {};
  TaintEffect effect = TaintEffect::kNoSchedule;
  /// RFC 3339; set by the API server if it is empty. Not a difference in comparisons.
  std::string time_added = {};

  bool operator==(const DeviceTaint& other) const {
    return key == other.key && value == other.value && effect == other.effect;
  }
};
/// Returns "patchbay.dev/unhealthy:NoSchedule". Patchbay sets no values.
inline std::string TaintText(const DeviceTaint& taint) {
  return taint.key + ":" + std::string(Name(taint.effect));
}

/// One entry of spec.devices.
struct SliceDevice {
  std::string name;
  Attributes attributes = {};
  Capacities capacity = {};  ///< a shared device has `slots`
  std::vector<DeviceTaint> taints = {};
  bool allow_multiple_allocations = false;
  /// The device has something that Patchbay never writes: another client changed the slice.
  bool has_foreign_fields = false;

  bool operator==(const SliceDevice&) const = default;
};

/// The spec of a slice, without the driver and the Kubernetes node, which are those of the daemon.
struct ResourceSlice {
  std::string pool;
  std::int64_t generation = 1;   ///< of the pool; the scheduler uses the slices with the highest
  std::int64_t slice_count = 1;  ///< the number of slices of that generation
  std::vector<SliceDevice> devices;

  bool operator==(const ResourceSlice&) const = default;
};

/// Identifies a version of a slice for an update or a deletion. Validated: `name` is a DNS
/// subdomain and can be a part of a URL. In a plan, the version of a slice that is deleted in any
/// version is empty.
struct SliceKey {
  std::string name;
  std::string uid;
  std::string resource_version;
  bool operator==(const SliceKey&) const = default;
};

/// A slice that the API server has.
struct PublishedSlice {
  SliceKey key;
  std::string driver;
  std::string node_name;  ///< empty if the slice is not of one node
  std::string owner_uid;  ///< of the Node that owns the slice; empty if none does
  ResourceSlice slice;
  /// Patchbay did not write the slice: `slice` has only the pool and its generation.
  bool is_foreign = false;
  bool operator==(const PublishedSlice&) const = default;
};

}  // namespace patchbay
