#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "kubelet/pod_resources.h"
#include "os/loop.h"

namespace patchbay {

/// Device usage for the calls of one resource. The source is the PodResources API of the kubelet,
/// which reports the devices of each pod.
///
/// Thread-safe. May be called after the resource or `pod_resources` is destroyed.
class DeviceUsage {
 public:
  /// Called on the loop: containers start with these devices although the previous holders could
  /// not be determined.
  using OnUnverified = std::function<void(const std::set<std::string>& devices)>;

  /// Without PodResources: nothing is polled, and no start is verified.
  DeviceUsage() = default;
  /// Called on the loop thread. `loop` must outlive it; `pod_resources` belongs to the loop and may
  /// have expired.
  DeviceUsage(Loop& loop, std::weak_ptr<PodResources> pod_resources, OnUnverified on_unverified);

  /// Reports that a container got devices, so that the usage is polled soon. Does not wake a
  /// thread, which would make each Allocate call about 7% slower.
  void OnAllocated() const;

  /// Polls the usage, then calls `then` once, on the loop (without PodResources: at once). By then
  /// the release hooks of previous holders have been queued, so a hook that is started in `then`
  /// runs after them.
  void QueueReleasesThen(std::set<std::string> devices, std::function<void()> then) const;

 private:
  Loop* loop_ = nullptr;
  std::weak_ptr<PodResources> pod_resources_;  ///< locked on the loop only
  std::function<void()> request_poll_ = [] {};
  OnUnverified on_unverified_;
};

}  // namespace patchbay
