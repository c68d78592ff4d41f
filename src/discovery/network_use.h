#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "discovery/sysfs.h"

namespace patchbay {

/// The use of network interfaces by a host: its routes at the time of construction, from the tables
/// of its PID 1, and bridges and bonds. May block, like all methods.
class NetworkUse {
 public:
  explicit NetworkUse(const HostRoot& host);

  /// Returns why the host needs a network interface, or may need it; "" if it does not.
  std::string_view RiskOf(const SysfsDevice& interface) const;

  /// Returns why an interface never moves into a container; "" if it may. Its routes are known only
  /// where this process sees PID 1 of the host, so patchbay-net looks at them again.
  std::string_view WhyItStays(const SysfsDevice& interface) const;

 private:
  bool HasEntry(const SysfsDevice& interface, bool (*is_it)(const std::string&)) const;

  HostRoot host_;
  /// In a pod, the interfaces in /sys are those of the host, and PID 1 has others.
  std::set<std::string, std::less<>> with_known_routes_;
  bool are_of_host_ = false;  ///< those in /sys are the same ones
  /// The interfaces with routes, and whether a default route is one of them.
  std::map<std::string, bool, std::less<>> has_default_;
};

}  // namespace patchbay
