#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "chaos/configuration.h"
#include "chaos/release_program.h"
#include "support/daemon_process.h"

namespace patchbay::test {

/// Pods that hold one device of each resource for a while. Says whether the daemon reports them as
/// the kubelet does, and whether the devices are released when the pods end.
class Holders {
 public:
  struct World {
    DaemonProcess& daemon;
    const Configuration& configuration;
    const ReleaseProgram& release;
  };
  explicit Holders(World world) : world_(world) {}

  /// Admits the pods and starts their containers. Returns what is wrong; "" if nothing is.
  std::string Begin();
  /// A line for each resource whose number of devices in use is not that of the pods.
  std::string WhatIsWrong();
  /// Ends the pods.
  void End();
  /// A line for each device that was not released exactly once since Begin.
  std::string WhatIsNotReleased() const;
  std::size_t released() const { return released_; }

 private:
  using Device = std::pair<std::string, std::string>;  ///< resource and ID

  World world_;
  int port_ = 0;                             ///< of the daemon's metrics, once it is known
  std::map<std::string, std::size_t> held_;  ///< by resource
  std::map<Device, std::size_t> runs_;  ///< of the hook before, by device that is to be released
  std::size_t released_ = 0;            ///< devices
};

}  // namespace patchbay::test
