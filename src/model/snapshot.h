#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/device.h"
#include "model/spec.h"

namespace patchbay {

/// Why something that matched is not advertised. The names are values of a metric label.
enum class RejectReason {
  kUnreadable,       ///< the node or its directory could not be looked at
  kBadName,          ///< a path that cannot be put in a message to the kubelet
  kDanglingLink,     ///< a link that leads nowhere, or in a circle
  kMissingVariable,  ///< a template needs what this device does not have
  kBadTemplate,      ///< a template renders to something no container can get
  kDuplicateId,      ///< two devices end with one ID; both are rejected
  kDuplicateNode,    ///< another device of the resource has the same node
  kWrongNumber,      ///< the node is not the one that the kernel has for the device
  kIncomplete,       ///< a node that the match requires is not there
  kTaken,            ///< another resource is the only owner of a node of it
  kCommandFailed,    ///< a command, or one entry of what it printed, is of no use
  kLimit,            ///< more than a resource may have
};
inline constexpr RejectReason kAllRejectReasons[] = {
    RejectReason::kUnreadable,      RejectReason::kBadName,       RejectReason::kDanglingLink,
    RejectReason::kMissingVariable, RejectReason::kBadTemplate,   RejectReason::kDuplicateId,
    RejectReason::kDuplicateNode,   RejectReason::kWrongNumber,   RejectReason::kIncomplete,
    RejectReason::kTaken,           RejectReason::kCommandFailed, RejectReason::kLimit,
};
/// "unreadable", "bad_name", …
std::string_view Name(RejectReason reason);

/// Something that matched, or a directory that might hold matches, and why nothing came of it.
struct Rejection {
  std::string path;
  RejectReason reason = RejectReason::kUnreadable;
  std::string detail;

  bool operator==(const Rejection&) const = default;
};

/// A device in the list of its resource.
struct ListedDevice {
  std::shared_ptr<const Device> device;
  Health health = Health::kHealthy;
  std::string reason;  ///< why it is unhealthy; empty for a healthy one
  /// Where not all devices fit in a list for the kubelet, those with a lower rank are listed.
  std::uint32_t rank = 0;

  bool operator==(const ListedDevice& other) const {
    return health == other.health && reason == other.reason && rank == other.rank &&
           (device == other.device || *device == *other.device);
  }
};

/// A [[resource.mount]] whose host path is not there, which is no reason to withhold a device: what
/// it leads to may be made when the container starts.
struct MissingMount {
  std::string path;
  std::string detail;

  bool operator==(const MissingMount&) const = default;
};

/// The devices of a resource at one moment. Immutable once shared; any thread may read it.
struct Snapshot {
  std::shared_ptr<const ResourceSpec> spec;
  std::uint64_t generation = 0;       ///< grows with every change
  std::vector<ListedDevice> devices;  ///< in the order of IdLess
  std::vector<Rejection> rejected;
  /// Whether every device is listed with its NUMA node. With some of them only, the kubelet would
  /// never align the others.
  bool topology = false;
  std::vector<MissingMount> missing_mounts = {};  ///< by path
};

/// The order of IDs: runs of digits compare as numbers, so that "tty9" is before "tty10".
bool IdLess(std::string_view a, std::string_view b);

/// The ID that the kubelet sees: `device_id` itself, or "device_id::replica" where a resource
/// advertises its devices more than once.
std::string AdvertisedId(const ResourceSpec& spec, std::string_view device_id, int replica);

/// What AdvertisedId makes an ID of; `device_id` lies in the ID that was taken apart.
struct AdvertisedUnit {
  std::string_view device_id;
  std::int64_t replica = 0;
};
/// Takes apart what AdvertisedId made for any resource that has replicas; nothing for what it
/// cannot have made.
std::optional<AdvertisedUnit> ParseReplica(std::string_view advertised_id);
/// Takes apart what AdvertisedId made for this one; nothing for what it cannot have made.
std::optional<AdvertisedUnit> ParseAdvertised(const ResourceSpec& spec,
                                              std::string_view advertised_id);

/// The bytes of the longest device ID of this resource, so that AdvertisedId stays within 63.
std::size_t LongestDeviceId(const ResourceSpec& spec);

/// A device of the snapshot by its own ID; null when there is none.
const ListedDevice* FindDevice(const Snapshot& snapshot, std::string_view device_id);

/// A device of the snapshot by the ID that the kubelet sees.
struct FoundDevice {
  const ListedDevice* listed = nullptr;  ///< null when there is none
  std::int64_t index = 0;
  std::int64_t replica = 0;
};
FoundDevice FindAdvertised(const Snapshot& snapshot, std::string_view advertised_id);

}  // namespace patchbay
