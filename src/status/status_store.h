#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "status/node_status.h"

namespace patchbay {

/// The current status of the node and its resources, for the metrics and the page. Each component
/// writes its part, and readers get a copy: a loop that hangs does not block them.
///
/// Thread-safe. The time that a call holds the lock does not depend on the number of devices. The
/// function given to Change runs under the lock and should only assign or swap.
class StatusStore {
 public:
  /// `origin` holds the fields that never change.
  explicit StatusStore(NodeStatus origin) : status_(std::move(origin)) {}

  /// Returns a copy of the whole status. Snapshots and other large parts are shared, not copied.
  NodeStatus Read() const;
  /// Returns a copy of the part about resources.
  ResourceStatuses Resources() const;

  /// Adds a resource without devices. Has no effect if it exists.
  void AddResource(const std::string& resource);
  /// Removes a resource. Later changes of it have no effect.
  void RemoveResource(const std::string& resource);
  /// Replaces the snapshot of a resource and returns the previous one, null for the first. Records
  /// the transitions of its devices, except those of a resource that is being removed.
  std::shared_ptr<const Snapshot> Exchange(const std::string& resource,
                                           std::shared_ptr<const Snapshot> snapshot, WallTime at);
  /// Sets the last probe result of a device. Has no effect if the device is not listed any more.
  void SetProbe(const std::string& resource, const std::string& device, LastProbe probe);
  /// Sets the time of the next probe of a device; nothing if the device is not probed.
  void SetNextProbe(const std::string& resource, const std::string& device,
                    std::optional<WallTime> at);
  /// Changes other fields of a resource. Has no effect if the resource was not added.
  void Change(const std::string& resource, const std::function<void(ResourceStatus&)>& change);
  /// Changes the status of the node.
  void Change(const std::function<void(NodeStatus&)>& change);

 private:
  void Changed();
  void Record(std::vector<Transition> transitions);
  ResourceStatus Find(const std::string& resource) const;

  std::mutex history_mutex_;  ///< orders the writers of the history; taken before the other
  mutable std::mutex mutex_;
  NodeStatus status_;
};

}  // namespace patchbay
