#pragma once

#include <string>
#include <vector>

#include "model/snapshot.h"

namespace patchbay {

/// One difference between two snapshots of a resource.
struct Change {
  enum class Kind {
    kAppeared,
    kForgotten,
    kUnhealthy,
    kHealthy,
    kRejected,
    kAccepted,
    kMissingMount,
  };
  Kind kind = Kind::kAppeared;
  std::string device;  ///< its ID; of kRejected, kAccepted and kMissingMount the path
  std::string reason;  ///< of kUnhealthy, kRejected and kMissingMount

  bool operator==(const Change&) const = default;
};

/// What changed from `before` (null: there was nothing) to `after`, in the order of IDs, rejections
/// and mounts last. A device that appears and is known not to work is unhealthy as well. A path
/// that is rejected for the same reason, though the details differ, did not change, and kAccepted
/// is one that is not rejected any more. Linear in the number of devices.
std::vector<Change> Diff(const Snapshot* before, const Snapshot& after);

}  // namespace patchbay
