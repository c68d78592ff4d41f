#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include "sim/kubelet/kubelet_sim.h"

namespace patchbay::test {

/// Pods that start and end during the soak, and the counts of the kubelet. They use a resource of
/// their own, whose devices always work. Thread-safe.
class Pods {
 public:
  static constexpr const char* kResource = "soak.dev/pods";

  explicit Pods(KubeletSim& kubelet) : kubelet_(kubelet) {}

  /// Returns the resource for the configuration of the daemon.
  static std::string Toml();

  /// Runs a pod that requests one to three devices. Fails if it does not get them, as happens while
  /// the kubelet restarts.
  Status ComeAndGo();

  /// The number of containers that got devices, and the number of these devices.
  std::size_t admitted() const { return admitted_; }
  std::size_t devices() const { return devices_; }
  /// The number of containers for which the kubelet got no response, if it sent a call.
  std::size_t cut_off() const { return cut_off_; }

 private:
  KubeletSim& kubelet_;
  std::atomic<std::size_t> pods_ = 0;
  std::atomic<std::size_t> admitted_ = 0;
  std::atomic<std::size_t> devices_ = 0;
  std::atomic<std::size_t> cut_off_ = 0;
};

}  // namespace patchbay::test
