#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "sim/kubelet/kubelet_sim.h"
#include "sim/kubelet/pod_list.h"

namespace patchbay {

/// The state that is kept across restarts of the built-in kubelet: the mutex of the simulation, the
/// notification of changes, the log of calls, the active faults and what the API server knows of
/// pods: the claims in the specifications of containers, and which pods ended.
struct SimState {
  struct Fault {
    RegisterFault kind = RegisterFault::kNone;
    std::string text;
  };

  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t version = 0;  ///< increases with every change
  std::vector<RegisterCall> calls;
  std::map<std::string, Fault> faults;  ///< by resource; "" applies to all others
  PodResourcesFault pod_resources_fault = PodResourcesFault::kNone;
  std::size_t pod_resources_calls = 0;
  ContainerClaims container_claims;
  /// The pods that ended and that the checkpoint may still contain, with the number of their end.
  std::map<std::string, std::uint64_t> ended_pods;
  std::uint64_t last_end = 0;  ///< the number of the newest end of a pod

  /// Called with `mutex` held.
  void Changed() {
    ++version;
    changed.notify_all();
  }
  /// Called with `mutex` held.
  Fault FaultFor(const std::string& resource) const {
    for (const std::string& name : {resource, std::string()}) {
      if (const auto fault = faults.find(name); fault != faults.end()) return fault->second;
    }
    return {};
  }
};

}  // namespace patchbay
