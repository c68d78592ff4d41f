#pragma once

#include <string>
#include <vector>

#include "config/toml_writer.h"
#include "suggest/host_device.h"

namespace patchbay {

/// A match that may find more than its device.
struct MatchCandidate {
  NewMatch match;
  std::string key;
  std::string why;  ///< "by its serial number"
  std::string id;   ///< a template for the ID, to which an attribute can be appended
  enum class By { kType, kProperty, kPlace, kName } by = By::kProperty;  ///< kPlace: DEVPATH
  bool needs_usb = false;  ///< without its USB ID, it is invalid or finds other devices
};
using By = MatchCandidate::By;

/// The candidates for the match of a device, the best one first; never empty.
struct DeviceCandidates {
  std::string group;  ///< the properties that all of them compare
  std::vector<MatchCandidate> list;
};

/// Returns the candidates of each device. `ancestries` and `sysfs` are those of the parts. With
/// `is_shortest`, the first candidate is the type, and the last one the name. May block.
std::vector<DeviceCandidates> CandidatesOf(const std::vector<HostDevice>& devices, bool is_shortest,
                                           DeviceAncestries& ancestries, const Sysfs& sysfs);

}  // namespace patchbay
