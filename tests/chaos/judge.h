#pragma once

#include <set>
#include <string>

#include "chaos/configuration.h"
#include "chaos/host.h"
#include "chaos/pods.h"
#include "chaos/troubles.h"
#include "support/daemon_process.h"

namespace patchbay::test {

/// How many probes run at once, as the judged daemon is told.
inline constexpr long kMaxProbes = 8;

/// Says whether the daemon and the kubelet are as they should be in peace: by the host and the
/// configuration, never by what the daemon says of itself.
class Judge {
 public:
  struct World {
    DaemonProcess& daemon;
    const Configuration& configuration;
    const Host& host;
    const Troubles& troubles;
    Pods& pods;
  };
  explicit Judge(World world) : world_(world) {}

  /// A line for each thing that is wrong.
  std::string WhatIsWrong();
  /// The same while some troubles last, which may affect these resources and no others.
  std::string WhatIsWrongBeside(const std::set<std::string>& affected);
  /// A line for each resource with vanished devices. They stay listed until the kubelet has said
  /// that no pod holds them any more, and are not wrong before.
  std::string WhatLingers() const;
  /// What the daemon has now is right for so many resources.
  void TakeMeasure() { measure_ = Now(); }
  std::string Holdings() const;

 private:
  struct Measure {
    long resources = 0;
    long descriptors = 0;  ///< without connections to plugin sockets that clients have open
    long threads = 0;
    std::string Text() const;
  };

  std::string WhatIsWrongWith(const Configuration::Resource& resource) const;
  /// What the kubelet has of it, with or without the vanished devices that pods may hold.
  Configuration::Health Listed(const Configuration::Resource& resource, bool with_vanished) const;
  std::string WhatListsLack(const std::set<std::string>& affected) const;
  std::string WhoIsLeft(const std::set<std::string>& affected) const;
  std::string WhatIsLeft() const;
  std::string WhatPodsMiss(const std::set<std::string>& affected);
  Measure Now() const;

  World world_;
  Measure measure_;
};

}  // namespace patchbay::test
