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
    kMoved,  ///< the link that matched leads to another node than before
    kNote,   ///< see DeviceNote
    kUnusedExclude,
  };
  Kind kind = Kind::kAppeared;
  std::string device;  ///< its ID; for kRejected, kAccepted and kMissingMount the path,
                       ///< for kUnusedExclude the glob
  std::string reason;  ///< for all kinds of problems

  bool operator==(const Change&) const = default;
};

/// Returns the changes from `before` (may be null) to `after`, ordered by ID, rejections and mounts
/// last. An Unhealthy device that appears makes two changes. A path that is rejected for the same
/// reason with other details did not change; kAccepted is a path that is no longer rejected. Linear
/// in the number of devices.
std::vector<Change> Diff(const Snapshot* before, const Snapshot& after);

/// Returns the changes of the first list, where every device is new, without kAppeared.
std::vector<Change> ProblemsAtStart(const Snapshot& first);

}  // namespace patchbay
