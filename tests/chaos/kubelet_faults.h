#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "chaos/random.h"
#include "sim/kubelet/kubelet_sim.h"

namespace patchbay::test {

/// Faults of a kubelet. `resource` may be unknown to the kubelet.
///
/// Every change returns what was done.
class KubeletFaults {
 public:
  explicit KubeletFaults(KubeletSim& kubelet) : kubelet_(kubelet) {}

  std::string Restart();
  /// Stops the kubelet, and leaves its socket behind (Crash) or removes it (Stop). It stays down.
  std::string Crash();
  std::string Stop();
  std::string Start();
  /// Removes all files in the directory while the kubelet keeps running.
  std::string WipeDirectory();
  /// Replaces the directory, with or without starting the kubelet in the new one.
  std::string ReplaceDirectory(Random& random);

  std::string FailRegister(const std::string& resource, Random& random);
  std::string BreakStreams(const std::string& resource, Random& random);
  /// Opens additional streams, some of which are not read.
  std::string OpenStreams(const std::string& resource, Random& random);
  std::string StopReading(const std::string& resource);
  std::string ResumeReading(const std::string& resource);
  std::string DeleteSocket(const std::string& resource);

  /// Makes the PodResources API fail in the next of several ways, or repairs it. Not part of End.
  std::string BreakPodResources();
  std::string RepairPodResources();
  bool is_pod_resources_broken() const { return pod_resources_ != PodResourcesFault::kNone; }
  bool does_pod_resources_hang() const { return pod_resources_ == PodResourcesFault::kHang; }
  /// Returns whether the API has been called since then. Always true if it has no socket.
  bool WasPodResourcesCalled() const;

  /// Ends all faults. Restarts the kubelet if it is down, or if a plugin may be in a long back-off.
  /// Additional streams may stay open; they must have no effect.
  std::string End(Random& random);
  /// The maximum number of additional streams that are open.
  std::size_t extra_streams() const { return extra_streams_; }
  /// The number of calls of the PodResources API, by result.
  const std::map<std::string, std::size_t>& pod_resources_calls() const { return calls_; }
  /// The number of starts of the kubelet.
  std::size_t starts() const { return starts_; }

 private:
  std::string FreshStart();
  void SetPodResources(PodResourcesFault fault);
  void CloseStreams();

  KubeletSim& kubelet_;
  PodResourcesFault pod_resources_ = PodResourcesFault::kNone;
  std::size_t pod_resources_turn_ = 0;
  std::size_t calls_before_ = 0;  ///< calls of PodResources before the current fault
  std::map<std::string, std::size_t> calls_;
  bool needs_start_ = false;
  std::size_t starts_ = 0;
  std::size_t extra_streams_ = 0;
  /// Events since the start of the kubelet that make a plugin back off, by resource.
  std::map<std::string, int> setbacks_;
  std::set<std::string> faults_, extra_, unread_;  ///< resources that have these faults
};

}  // namespace patchbay::test
