#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kubelet_sim/kubelet_sim.h"

namespace patchbay::test {

/// Pods that come and go, one after the other on a thread of its own. The kubelet must be answered,
/// and whatever the configuration is at that moment, some nodes are never given.
class Pods {
 public:
  /// Called on the thread of the pods.
  using MayGive = std::function<bool(const std::string& node)>;

  Pods(KubeletSim& kubelet, MayGive may_give)
      : kubelet_(kubelet), may_give_(std::move(may_give)), thread_([this] { Run(); }) {}
  ~Pods() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

  void Add(const std::string& resource, int devices) {
    const std::lock_guard lock(mutex_);
    waiting_.emplace_back(resource, devices);
    changed_.notify_all();
  }
  /// What pods were given that no configuration has.
  std::string wrong() const {
    const std::lock_guard lock(mutex_);
    return wrong_;
  }
  /// Whether all that were added have been admitted or refused.
  bool IsIdle() const {
    const std::lock_guard lock(mutex_);
    return waiting_.empty();
  }
  /// No more are admitted than the one under way, if there is one. Waits for it, then releases what
  /// all have. False when it still waits after `patience`, and nothing is released.
  bool End(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    if (!waiting_.empty()) waiting_.erase(waiting_.begin() + 1, waiting_.end());
    if (!changed_.wait_for(lock, patience, [&] { return waiting_.empty(); })) return false;
    // Also those that were released: a kubelet that crashed meanwhile may have saved them before.
    for (const std::string& pod : pods_) kubelet_.Release(pod);
    pods_.clear();
    return true;
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
      if (ending_) return;
      const auto [resource, devices] = waiting_.front();
      const std::string pod = "pod-" + std::to_string(++count_);
      pods_.push_back(pod);
      lock.unlock();
      const auto admitted = kubelet_.Admit(pod, "main", resource, devices);
      if (admitted) (void)kubelet_.StartContainer(pod, "main");
      lock.lock();
      if (admitted) Check(resource, admitted->response);
      // Some stay until the end of the round.
      if (count_ % 3 != 0) kubelet_.Release(pod);
      waiting_.pop_front();
      changed_.notify_all();
    }
  }

  void Check(const std::string& resource, const v1beta1::ContainerAllocateResponse& response) {
    for (const auto& device : response.devices()) {
      if (may_give_(device.host_path())) continue;
      wrong_ += "  a pod got " + device.host_path() + " of " + resource + "\n";
    }
  }

  KubeletSim& kubelet_;
  const MayGive may_give_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::deque<std::pair<std::string, int>> waiting_;
  std::vector<std::string> pods_;  ///< since the last End
  std::size_t count_ = 0;
  std::string wrong_;
  std::thread thread_;
};

}  // namespace patchbay::test
