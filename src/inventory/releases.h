#pragma once

#include <set>
#include <string>
#include <vector>

#include "model/holders.h"

namespace patchbay {

/// What the kubelet says of one resource, and how far that can be trusted.
struct HoldersReport {
  DeviceHolders holders = {};
  bool complete = true;      ///< whoever is not named holds nothing
  std::string kubelet = {};  ///< another one for each run of the kubelet
};

/// Decides when a device is to be released: when none of the containers that held it do, by the
/// word of one and the same run of the kubelet. One that has just started does not know its pods
/// yet, and names none while it cannot reach the API server; so what was held before it started
/// counts as held until it is named again. A device that went from one container to the next is
/// released if the next has not started yet. Init containers are never named: a device with which
/// one may have started counts as used.
///
/// Pure; a value that remembers the last report.
class Releases {
 public:
  /// A container was let start with the device, though nobody could say who had it before.
  void OnBlindStart(const std::string& device) { blind_.insert(device); }

  struct Verdict {
    std::vector<std::string> released = {};  ///< to be released now
    std::vector<std::string> missed = {};    ///< too late: the next container has started
  };
  /// Takes in what the kubelet says now, by the IDs of devices, whatever their replica.
  Verdict Take(const HoldersReport& report);

 private:
  DeviceHolders held_;  ///< as far as this run of the kubelet has named them
  std::string kubelet_;
  std::set<std::string> blind_;  ///< since the last report
};

}  // namespace patchbay
