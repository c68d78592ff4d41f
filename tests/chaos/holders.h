#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "chaos/configuration.h"
#include "chaos/release_program.h"
#include "support/daemon_process.h"

namespace patchbay::test {

/// Pods that hold one device of each resource for a while, and successors after them. Checks that
/// the daemon reports them as the kubelet does, and that their devices are released.
class Holders {
 public:
  struct World {
    DaemonProcess& daemon;
    const Configuration& configuration;
    const ReleaseProgram& release;
  };
  explicit Holders(World world) : world_(world) {}

  /// Admits the pods and starts their containers. Returns the errors; "" if there are none.
  /// The devices of earlier pods have been released when it returns.
  std::string Begin();
  /// A line for each resource whose number of devices in use is not that of the pods.
  std::string FindErrors();
  /// Ends the pods and starts successors, which hold as many devices. All devices that are released
  /// from then on were held by the first pods. Returns the errors; "" if there are none.
  std::string HandOver();
  /// A line for each device of the first pods that was not released exactly once since Begin.
  std::string ListUnreleased() const;
  /// Ends all pods.
  void End();
  /// A line for each device of the successors that was not released since End.
  std::string ListKept() const;
  /// The number of devices whose release was checked.
  std::size_t checked() const { return checked_; }

 private:
  using Device = std::pair<std::string, std::string>;  ///< resource and ID

  using Runs = std::map<Device, std::size_t>;  ///< of the hook

  std::string Hold(const std::string& role, std::set<Device>& devices);
  Runs RunsOf(const std::set<Device>& devices) const;

  World world_;
  int port_ = 0;                             ///< of the daemon's metrics, once it is known
  std::map<std::string, std::size_t> held_;  ///< by resource
  Runs runs_;                                ///< by device that HandOver has released, before it
  std::set<Device> last_;                    ///< held by the other pods
  Runs last_runs_;                           ///< by those, before End
  std::size_t checked_ = 0;
};

}  // namespace patchbay::test
