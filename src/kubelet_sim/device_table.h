#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kubelet_sim/resource_view.h"

namespace patchbay {

/// The kubelet's three tables of one resource: all devices, the healthy and the unhealthy IDs
/// (contract 2.1-2.4). A value.
class DeviceTable {
 public:
  /// Takes a list in the place of all that was known. Of equal IDs the last device stays; an ID
  /// with both healths is in both sets, as in the kubelet, and counts twice.
  void Update(const std::vector<SimDevice>& list);

  /// The plugin is gone: what was healthy is unhealthy. The devices keep the health they were
  /// listed with.
  void MarkUnhealthy();

  const std::map<std::string, SimDevice>& devices() const { return devices_; }
  const std::set<std::string>& healthy() const { return healthy_; }
  const std::set<std::string>& unhealthy() const { return unhealthy_; }

  std::size_t capacity() const { return healthy_.size() + unhealthy_.size(); }
  std::size_t allocatable() const { return healthy_.size(); }

 private:
  std::map<std::string, SimDevice> devices_;
  std::set<std::string> healthy_;
  std::set<std::string> unhealthy_;
};

}  // namespace patchbay
