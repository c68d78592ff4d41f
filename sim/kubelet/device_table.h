#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/kubelet/resource_view.h"

namespace patchbay {

/// The three tables of a resource in the kubelet: all devices, the healthy IDs and the unhealthy
/// IDs (genericDeviceUpdateCallback in manager.go of the device manager). A value.
class DeviceTable {
 public:
  /// Replaces the tables with a list. Of devices with the same ID, the last one remains; like in
  /// the kubelet, an ID that is listed as healthy and unhealthy is in both sets and counts twice.
  void Update(const std::vector<SimDevice>& list);

  /// Marks all IDs unhealthy, because the plugin disconnected. The devices keep their listed
  /// health.
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
