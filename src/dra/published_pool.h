#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dra/attributes.h"
#include "dra/resource_slice.h"
#include "dra/server_features.h"
#include "model/snapshot.h"

namespace patchbay {

/// The devices of a snapshot by their names in slices. Immutable; any thread may read it.
class NamedDevices {
 public:
  explicit NamedDevices(std::shared_ptr<const Snapshot> snapshot);

  const Snapshot& snapshot() const { return *snapshot_; }
  /// Returns the device, valid as long as this object, or null if there is none.
  const ListedDevice* Find(std::string_view name) const;

 private:
  struct Named {
    std::string name;
    const ListedDevice* device = nullptr;
  };
  std::shared_ptr<const Snapshot> snapshot_;
  std::vector<Named> by_name_;  ///< sorted
};

/// A set of device IDs, without replicas.
using DeviceIds = std::set<std::string, std::less<>>;

/// The state from which the pool of one resource is computed. A view: everything outlives the call.
struct PoolInput {
  const NamedDevices& devices;
  std::string_view node_name;  ///< of the Kubernetes node
  const DeviceIds& allocated;  ///< to any claim
  ServerFeatures features = {};
};

/// A device that is not published, or an attribute that it is published without; printable.
struct PoolProblem {
  std::string device_id;
  std::string attribute = {};  ///< empty if the device is not published
  std::string reason;
  bool operator==(const PoolProblem&) const = default;
};

/// Returns "ttyUSB0 usbSerial: <reason>".
std::string ProblemText(const PoolProblem& problem);

/// The desired content of a pool.
struct PublishedPool {
  std::string name;
  std::vector<SliceDevice> devices;  ///< in the order of the snapshot; their names are distinct
  std::vector<PoolProblem> problems;
  /// Not empty: the resource must have no slice, for this reason, which names a fix.
  std::string not_served;
};

/// Returns a hash of the devices and of the reason, equal for equal pools. Not for use outside of
/// the process.
std::size_t ContentHash(const PublishedPool& pool);

/// Returns the pool of a resource. Replicas are slots of a shared device. An unhealthy device has
/// kUnhealthyTaint; a missing one has kGoneTaint while it is allocated, and is otherwise left out.
/// One that was never found keeps its pods unless it is missing, and has automatic attributes only.
/// If the API server drops taints, an unhealthy or missing device that could be allocated leaves
/// the pool instead: a shared one always, another one unless it is allocated. Pure; O(n log n).
PublishedPool ComputePool(const PoolInput& input);

}  // namespace patchbay
