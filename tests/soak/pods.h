#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include "kubelet_sim/kubelet_sim.h"

namespace patchbay::test {

/// Pods that come and go while everything else does, and what the kubelet saw of them. Their
/// resource is one of its own, whose devices always work. Any thread may call it.
class Pods {
 public:
  static constexpr const char* kResource = "soak.dev/pods";

  explicit Pods(KubeletSim& kubelet) : kubelet_(kubelet) {}

  /// The resource, as the daemon's file has it.
  static std::string Toml();

  /// A pod gets one to three devices and ends, or does not get them while the kubelet restarts.
  void ComeAndGo();

  /// Containers that got their devices, and how many these were.
  std::size_t admitted() const { return admitted_; }
  std::size_t devices() const { return devices_; }
  /// Containers of which the kubelet never heard what became of its call, if it made one.
  std::size_t cut_off() const { return cut_off_; }

 private:
  KubeletSim& kubelet_;
  std::atomic<std::size_t> pods_ = 0;
  std::atomic<std::size_t> admitted_ = 0;
  std::atomic<std::size_t> devices_ = 0;
  std::atomic<std::size_t> cut_off_ = 0;
};

}  // namespace patchbay::test
