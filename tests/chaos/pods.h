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

#include "sim/kubelet/kubelet_sim.h"

namespace patchbay::test {

/// Admits pods one after the other on its own thread. Each call of the kubelet must be answered,
/// and some nodes must never be allocated, with any configuration.
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
  /// Returns the nodes that pods got although no configuration permits them.
  std::string wrong() const {
    const std::lock_guard lock(mutex_);
    return wrong_;
  }
  /// Returns whether all added pods have been admitted or rejected.
  bool IsIdle() const {
    const std::lock_guard lock(mutex_);
    return waiting_.empty();
  }
  /// Cancels the pods that are not being admitted yet, waits for the one in progress, and releases
  /// all devices. If that takes longer than `patience`, returns false and releases nothing.
  bool End(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    if (!waiting_.empty()) waiting_.erase(waiting_.begin() + 1, waiting_.end());
    if (!changed_.wait_for(lock, patience, [&] { return waiting_.empty(); })) return false;
    // Also the released ones: a kubelet that crashed may have restored them from its checkpoint.
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
