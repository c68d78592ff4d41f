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

/// Why a device that matched is not advertised. The names are values of a metric label.
enum class RejectReason {
  kUnreadable,       ///< the node or its directory could not be read
  kBadName,          ///< the path is not valid in a message to the kubelet
  kDanglingLink,     ///< a symbolic link without a target, or a loop
  kMissingVariable,  ///< a template uses a variable that the device does not have
  kBadTemplate,      ///< the result of a template is not valid
  kDuplicateId,      ///< two devices have the same ID; both are rejected
  kDuplicateNode,    ///< another device of the resource has the same node
  kWrongNumber,      ///< the device number is not the one in sysfs
  kIncomplete,       ///< a node that the match requires is missing
  kTaken,            ///< a node belongs to an exclusive resource
  kMounted,          ///< the host uses a disk: mounted, swap space, or part of a volume
  kNotMovable,       ///< a network interface that no container can have
  kMissingExclude,   ///< an `exclude` that the match requires excludes nothing
  kCommandFailed,    ///< a command failed, or an entry of its output is not valid
  kLimit,            ///< too many devices, or more than fits into memory
};
inline constexpr RejectReason kAllRejectReasons[] = {
    RejectReason::kUnreadable,      RejectReason::kBadName,       RejectReason::kDanglingLink,
    RejectReason::kMissingVariable, RejectReason::kBadTemplate,   RejectReason::kDuplicateId,
    RejectReason::kDuplicateNode,   RejectReason::kWrongNumber,   RejectReason::kIncomplete,
    RejectReason::kTaken,           RejectReason::kMounted,       RejectReason::kNotMovable,
    RejectReason::kMissingExclude,  RejectReason::kCommandFailed, RejectReason::kLimit,
};
/// Returns "unreadable", "bad_name", …
std::string_view Name(RejectReason reason);

/// A path that matched, or a directory that could contain matches, and why it gave no device.
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
  /// If not all devices fit in a list for the kubelet, devices with a lower rank have precedence.
  std::uint32_t rank = 0;
  bool is_missing = false;  ///< the last scan did not find it
  /// No scan of this process has found it: only its ID is known, and it has no nodes.
  bool never_found = false;

  bool operator==(const ListedDevice& other) const {
    return health == other.health && reason == other.reason && rank == other.rank &&
           is_missing == other.is_missing && never_found == other.never_found &&
           (device == other.device || *device == *other.device);
  }
};

/// A [[resource.mount]] whose host path does not exist. The device is still advertised, because the
/// path may exist when a container starts.
struct MissingMount {
  std::string path;
  std::string detail;

  bool operator==(const MissingMount&) const = default;
};

/// A fact about a device that can be allocated, which the administrator should know.
struct DeviceNote {
  std::string device;  ///< its ID, without replica
  std::string text;    ///< what is wrong, and what to do

  bool operator==(const DeviceNote&) const = default;
};

/// A glob of `exclude`, or a condition of `not`, that excludes nothing on this node: a misspelled
/// link or value, or a device that the match does not find.
struct UnusedExclude {
  std::size_t match = 0;  ///< the index of its match
  std::string what;       ///< the glob, or the keys of the condition: "not.pci_address"

  /// Why it is reported, for an administrator.
  std::string_view reason() const {
    return what.starts_with('/')
               ? "it excludes nothing: no device that the match finds has it; check its spelling, "
                 "and name a node of a device that the match finds"
               : "it excludes nothing: no device that the match finds meets it; check the spelling "
                 "of its values";
  }

  bool operator==(const UnusedExclude&) const = default;
};

/// The devices of a resource at a point in time. Immutable once shared; any thread may read it.
struct Snapshot {
  std::shared_ptr<const ResourceSpec> spec;
  std::uint64_t generation = 0;       ///< increases with every change
  std::vector<ListedDevice> devices;  ///< ordered by IdLess
  std::vector<Rejection> rejected;
  /// True if every device is listed with its NUMA node. If only some were, the kubelet would never
  /// align the others.
  bool topology = false;
  std::vector<MissingMount> missing_mounts = {};    ///< ordered by path
  std::vector<DeviceNote> notes = {};               ///< see discovery/device_notes.h
  std::vector<UnusedExclude> unused_excludes = {};  ///< in the order of the matches
};

/// Compares IDs. Digits compare as numbers, so that "tty9" is before "tty10".
bool IdLess(std::string_view a, std::string_view b);

/// Returns the ID for the kubelet: `device_id`, or "device_id::replica" if the resource has
/// replicas.
std::string AdvertisedId(const ResourceSpec& spec, std::string_view device_id, int replica);

/// The parts of an ID for the kubelet. `device_id` is a view into it.
struct AdvertisedUnit {
  std::string_view device_id;
  std::int64_t replica = 0;
};
/// Parses an ID that AdvertisedId returned for any resource with replicas. Returns nothing for any
/// other text.
std::optional<AdvertisedUnit> ParseReplica(std::string_view advertised_id);
/// Parses an ID that AdvertisedId returned for `spec`. Returns nothing for any other text.
std::optional<AdvertisedUnit> ParseAdvertised(const ResourceSpec& spec,
                                              std::string_view advertised_id);

/// Returns the maximum length of a device ID in bytes, so that AdvertisedId has at most 63.
std::size_t LongestDeviceId(const ResourceSpec& spec);

/// Returns the device with the ID `device_id`, without replica. Returns null if there is none.
const ListedDevice* FindDevice(const Snapshot& snapshot, std::string_view device_id);

/// A device of the snapshot, its index and the replica.
struct FoundDevice {
  const ListedDevice* listed = nullptr;  ///< null if there is none
  std::int64_t index = 0;
  std::int64_t replica = 0;
};
/// Returns the device with the ID that the kubelet uses.
FoundDevice FindAdvertised(const Snapshot& snapshot, std::string_view advertised_id);

}  // namespace patchbay
