#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "status/driver_counters.h"
#include "status/node_status.h"
#include "status/observer.h"

namespace patchbay {

/// The current status of the node and its resources, with their counters, for the metrics and the
/// page. Each component writes its part, and readers get a copy: a loop that hangs does not block
/// them.
///
/// Thread-safe. The time that a call holds the lock does not depend on the number of devices. The
/// function given to Change runs under the lock and should only assign or swap.
class StatusStore : public std::enable_shared_from_this<StatusStore> {
 public:
  using Clock = std::function<WallTime()>;

  /// `origin` holds the fields that never change, and the first values of others. Make it with
  /// std::make_shared: observers keep it.
  explicit StatusStore(NodeStatus origin, Clock clock = std::chrono::system_clock::now);

  /// Returns a copy of the whole status. Snapshots and other large parts are shared, not copied.
  NodeStatus Read() const;
  WallTime Now() const { return clock_(); }

  /// Returns an observer for one resource, which is in the status until the observer is destroyed.
  /// Observers of one name that exist at the same time share their status, so that counters
  /// continue when a resource is replaced.
  std::shared_ptr<ResourceObserver> AddResource(const std::string& name);
  /// Returns the counters of the driver for Dynamic Resource Allocation, which exist from now on.
  std::shared_ptr<DriverCounters> AddDriver();

  /// Sets whether the kubelet's socket exists and responds.
  void SetKubeletUp(bool up);
  /// Counts a restart of the kubelet: its socket was re-created.
  void CountKubeletRestart();
  /// The PodResources API is in use from now on.
  void EnablePodResources();
  /// Sets whether the PodResources API responds.
  void SetPodResourcesUp(bool up);
  /// Replaces the status of Dynamic Resource Allocation, which is in use from now on.
  void SetDra(std::shared_ptr<const DraStatus> dra);
  /// Replaces the resources that are not for this node.
  void SetHiddenResources(HiddenResources hidden);
  /// Records the result of reading the configuration, at start or later.
  void SetConfigReading(ConfigReading reading);
  /// See NodeStatus.
  void SetShown(bool device_metrics, bool suggest_page);

  /// Replaces the snapshot of a resource and returns the previous one, null for the first. Records
  /// the transitions of its devices, except those of a resource that is being removed.
  std::shared_ptr<const Snapshot> Exchange(const std::string& resource,
                                           std::shared_ptr<const Snapshot> snapshot);
  /// Sets the last probe result of a device. Has no effect if the device is not listed any more.
  void SetProbe(const std::string& resource, const std::string& device, LastProbe probe);
  /// Sets the time of the next probe of a device; nothing if the device is not probed.
  void SetNextProbe(const std::string& resource, const std::string& device,
                    std::optional<WallTime> at);
  /// Changes other fields of a resource. Has no effect if the resource was not added.
  void Change(const std::string& resource, const std::function<void(ResourceStatus&)>& change);

 private:
  void Change(const std::function<void(NodeStatus&)>& change);
  void Changed();
  void Record(std::vector<Transition> transitions);
  ResourceStatus Find(const std::string& resource) const;
  void Release(const std::string& resource);

  const Clock clock_;
  std::mutex history_mutex_;  ///< orders the writers of the history; taken before the other
  mutable std::mutex mutex_;
  NodeStatus status_;
  std::map<std::string, int> observers_;  ///< by resource
};

}  // namespace patchbay
