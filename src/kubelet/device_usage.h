#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "kubelet/pod_resources.h"
#include "os/loop.h"

namespace patchbay {

/// What the calls of one resource need to know about device usage, and report about it. The kubelet
/// is the source: its PodResources API reports which pods hold which devices.
///
/// Thread-safe. May be called after the resource or `pod_resources` is gone.
class DeviceUsage {
 public:
  /// Called on the loop: containers start with these devices although the previous holders could
  /// not be determined.
  using OnUnverified = std::function<void(const std::set<std::string>& devices)>;

  /// Without PodResources: nothing is polled, and no start is verified.
  DeviceUsage() = default;
  /// Loop thread. `loop` outlives it; `pod_resources` belongs to the loop and may have expired.
  DeviceUsage(Loop& loop, std::weak_ptr<PodResources> pod_resources, OnUnverified on_unverified);

  /// Reports that a container got devices, so that the usage is polled soon. Does not wake a
  /// thread, which would make each Allocate slower by a fifteenth.
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
