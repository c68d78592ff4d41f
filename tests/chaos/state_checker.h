#pragma once

#include <set>
#include <string>

#include "chaos/configuration.h"
#include "chaos/host.h"
#include "chaos/kubelet_faults.h"
#include "chaos/pods.h"
#include "support/daemon_process.h"

namespace patchbay::test {

/// The max_probes of the daemon.
inline constexpr long kMaxProbes = 8;

/// Checks whether the daemon and the kubelet are in the state that the host and the configuration
/// require. Does not rely on what the daemon reports about itself.
class StateChecker {
 public:
  struct World {
    DaemonProcess& daemon;
    const Configuration& configuration;
    const Host& host;
    const KubeletFaults& faults;
    Pods& pods;
  };
  explicit StateChecker(World world) : world_(world) {}

  /// Returns a line if the daemon does not run; "" if it does.
  std::string HowDaemonEnded() const;
  /// Returns a line for each error.
  std::string FindErrors();
  /// Returns the same during faults that may only affect these resources.
  std::string FindErrorsExcept(const std::set<std::string>& affected);
  /// Returns a line for each resource with vanished devices. They stay listed until the kubelet
  /// reports that no pod holds them, and are not errors before.
  std::string ListLingering() const;
  /// Uses the current number of descriptors and threads as the reference for later checks.
  void SetBaseline() { measure_ = Now(); }
  std::string Holdings() const;

 private:
  struct Measure {
    long resources = 0;
    long descriptors = 0;  ///< without the connections that clients have open to plugin sockets
    long threads = 0;
    std::string Text() const;
  };

  std::string FindErrorsIn(const Configuration::Resource& resource) const;
  /// Returns the list of the kubelet, with or without vanished devices, which pods may hold.
  Configuration::Health Listed(const Configuration::Resource& resource, bool with_vanished) const;
  std::string CheckLists(const std::set<std::string>& affected) const;
  std::string CheckRemovedResources(const std::set<std::string>& affected) const;
  std::string CheckLeftovers() const;
  std::string CheckAllocations(const std::set<std::string>& affected);
  Measure Now() const;

  World world_;
  Measure measure_;
};

}  // namespace patchbay::test
