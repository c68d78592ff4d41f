#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dra/attributes.h"
#include "dra/resource_slice.h"
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
  std::shared_ptr<const Snapshot> snapshot_;
  std::map<std::string, const ListedDevice*, std::less<>> by_name_;
};

/// A set of device IDs, without replicas.
using DeviceIds = std::set<std::string, std::less<>>;

/// The features of the API server that change what is published. An API server without a feature
/// stores an object without its fields, and reports neither an error nor a warning: taints need
/// DRADeviceTaints, shared devices DRAConsumableCapacity, both on by default from Kubernetes 1.36.
struct ServerFeatures {
  bool taints = true;
  bool shared_devices = true;  ///< allowMultipleAllocations and the policies of capacities
  bool operator==(const ServerFeatures&) const = default;
};

/// Returns the features, found by comparing the devices that were sent with those that the API
/// server stored and returned. A feature that nothing in `sent` needs counts as present. Pure.
ServerFeatures FeaturesOf(const ResourceSlice& sent, const ResourceSlice& stored);

/// Returns a slice that needs all features, for a request with dryRun=All before the first slice is
/// published: a shared device must never be visible as an exclusive one.
ResourceSlice FeatureSample();

/// The state from which the pool of one resource is computed. A view: everything outlives the call.
struct PoolInput {
  const NamedDevices& devices;
  std::string_view node_name;  ///< of the Kubernetes node
  const DeviceIds& allocated;  ///< to any claim
  ServerFeatures features = {};
};

/// A device that is not published, or an attribute or a capacity that it is published without;
/// printable.
struct PoolProblem {
  std::string device_id;
  std::string attribute = {};  ///< empty if the device is not published
  std::string reason;
  bool operator==(const PoolProblem&) const = default;
};

/// Returns "ttyUSB0 usbSerial: <reason>".
std::string ProblemText(const PoolProblem& problem);

/// The pool of one resource as it shall be at the API server.
struct WantedPool {
  std::string name;
  std::vector<SliceDevice> devices;  ///< in the order of the snapshot; their names are distinct
  std::vector<PoolProblem> problems;
  /// Not empty: the resource must have no slice, for this reason, which names a fix.
  std::string not_served;
};

/// Returns the pool of a resource. Replicas are slots of a shared device. An unhealthy device has
/// kUnhealthyTaint; a missing one has kGoneTaint while it is allocated, and is otherwise left out.
/// One that was never found keeps its pods unless it is missing, and has automatic attributes only.
/// If the API server drops taints, an unhealthy or missing device that could be allocated leaves
/// the pool instead: a shared one always, another one unless it is allocated. Pure; O(n log n).
WantedPool ComputePool(const PoolInput& input);

}  // namespace patchbay
