#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/toml_writer.h"
#include "discovery/device_ancestry.h"
#include "suggest/kinds.h"

namespace patchbay {

/// A device of the host: parts in sysfs that belong together, in the order of their names.
struct Unit {
  const Kind* kind;
  std::vector<DeviceAncestry> parts;  ///< never empty
};

/// Returns one match for each unit of the host that finds this unit and no other one, and that has
/// a note on what it is and why it is matched this way. It compares what stays over restarts and in
/// another order of plugging in: the serial number of a USB device if no other one has it, its
/// port, the PCI address, a disk's serial number, ID_PATH of udev, or the place in sysfs without
/// numbers that the kernel gives. Units that nothing of this distinguishes share one match, which
/// is that of the first; the others have none. `ancestries` and `sysfs` are those of the parts.
class Identities {
 public:
  Identities(const std::vector<Unit>& units, DeviceAncestries& ancestries, const Sysfs& sysfs);

  /// In the order of the units; without a source if another unit has the match.
  std::vector<NewMatch> TakeMatches() { return std::move(matches_); }

 private:
  std::vector<NewMatch> matches_;
};

}  // namespace patchbay
