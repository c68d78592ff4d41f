#pragma once

#include <set>
#include <string>
#include <vector>

#include "model/pod_usage.h"

namespace patchbay {

/// The holders of one resource as the kubelet reports them, and how reliable the report is.
struct HoldersReport {
  DeviceHolders holders = {};
  bool complete = true;      ///< containers that are not listed hold nothing
  std::string kubelet = {};  ///< identifies the run of the kubelet
};

/// Decides when to release a device: when none of its previous holders holds it any more, according
/// to reports of one run of the kubelet. A kubelet that has just started has not loaded its pods
/// yet, and lists none while the API server is unreachable. Devices that were held before its start
/// therefore count as held until they are listed again. A device that moved from one container to
/// another is released only if the other has not started yet. Init containers are never listed: a
/// device that an init container may have started with counts as used.
///
/// Pure; a value that remembers the last report.
class ReleaseTracker {
 public:
  /// A container started with the device while its previous holder was unknown.
  void OnUnverifiedStart(const std::string& device) { unverified_.insert(device); }

  struct Decision {
    std::vector<std::string> released = {};  ///< to release now
    std::vector<std::string> missed = {};    ///< too late: the next container has started
  };
  /// Merges a report. Returns IDs of devices, without their replica.
  Decision Update(const HoldersReport& report);

 private:
  DeviceHolders held_;  ///< as reported by this run of the kubelet
  std::string kubelet_;
  std::set<std::string> unverified_;  ///< since the last report
};

}  // namespace patchbay
