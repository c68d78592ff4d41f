#pragma once

#include <set>
#include <string>
#include <string_view>

#include "discovery/sysfs.h"

namespace patchbay {

/// The default routes of a host at the time of construction, from the tables of its PID 1. May
/// block, like all methods.
class DefaultRoutes {
 public:
  explicit DefaultRoutes(const HostRoot& host);

  /// Returns why the host may need a network interface to be reachable; "" if it does not.
  std::string_view DangerOf(const SysfsDevice& interface) const;

 private:
  HostRoot host_;
  bool is_known_ = false;
  std::set<std::string, std::less<>> interfaces_;
};

}  // namespace patchbay
