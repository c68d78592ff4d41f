#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "chaos/random.h"
#include "kubelet_sim/kubelet_sim.h"

namespace patchbay::test {

/// What a kubelet does to plugins on bad days. `resource` may be one that it does not know.
///
/// Every function says what was done.
class Troubles {
 public:
  explicit Troubles(KubeletSim& kubelet) : kubelet_(kubelet) {}

  std::string Restart();
  /// Ends it, leaving its socket behind or not. It stays down.
  std::string Crash();
  std::string Stop();
  std::string Start();
  /// Removes all files of the directory, under a kubelet that goes on.
  std::string WipeDirectory();
  /// Puts another directory in its place, with or without the kubelet in it.
  std::string ReplaceDirectory(Random& random);

  std::string FailRegister(const std::string& resource, Random& random);
  std::string BreakStreams(const std::string& resource, Random& random);
  /// Streams that nobody needs, slow ones among them.
  std::string OpenStreams(const std::string& resource, Random& random);
  std::string StopReading(const std::string& resource);
  std::string ResumeReading(const std::string& resource);
  std::string DeleteSocket(const std::string& resource);

  /// Has the kubelet not say who holds what, in one of several ways, which take turns, or say it
  /// again. It is no part of End.
  std::string BreakPodResources();
  std::string MendPodResources();
  bool is_pod_resources_broken() const { return pod_resources_ != PodResourcesFault::kNone; }
  bool does_pod_resources_hang() const { return pod_resources_ == PodResourcesFault::kHang; }
  /// Whether it was asked since; where it has no socket, always.
  bool WasPodResourcesAsked() const;

  /// Everything is well again; starts the kubelet anew where it must be, or where a plugin may have
  /// become too cautious. Streams that nobody needs may stay open: they must not matter.
  std::string End(Random& random);
  /// So many of them there are at most.
  std::size_t extra_streams() const { return extra_streams_; }
  /// How often it was asked who holds what, by what came of it.
  const std::map<std::string, std::size_t>& pod_resources_calls() const { return calls_; }
  /// How often the kubelet was started.
  std::size_t starts() const { return starts_; }

 private:
  std::string FreshStart();
  void SetPodResources(PodResourcesFault fault);
  void CloseStreams();

  KubeletSim& kubelet_;
  PodResourcesFault pod_resources_ = PodResourcesFault::kNone;
  std::size_t pod_resources_turn_ = 0;
  std::size_t calls_before_ = 0;  ///< of PodResources, before it became so
  std::map<std::string, std::size_t> calls_;
  bool needs_start_ = false;
  std::size_t starts_ = 0;
  std::size_t extra_streams_ = 0;
  /// By resource, what makes a plugin back off, since the kubelet was started.
  std::map<std::string, int> setbacks_;
  std::set<std::string> faults_, extra_, unread_;  ///< resources that have these troubles
};

}  // namespace patchbay::test
