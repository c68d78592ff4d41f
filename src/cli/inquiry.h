#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/run_scan.h"
#include "discovery/device_ancestry.h"

namespace patchbay {

/// What `explain --path` asks about, as this host knows it: a node, a link to one, a device of
/// sysfs by its path or name, or the ID of a device.
struct Inquiry {
  std::string asked;                       ///< as given, but a path is as short as it can be
  std::vector<std::string> paths = {};     ///< that a match may know it by, its own first
  std::vector<std::string> syspaths = {};  ///< what it is to sysfs: several where they share a name
  std::optional<FileType> type = {};       ///< of what its path leads to, outside of sysfs
  std::optional<Error> error = {};         ///< why its path leads nowhere
  std::string hint = {};                   ///< what to do about the error; may be empty
  std::string description = {};            ///< what it is, in words; may be empty
};

/// A path as short as it can be, judged by its text; anything else as it is.
std::string ShortestPath(const std::string& asked);

/// Looks for it on the host. Fails for what is no path, and neither a name in sysfs nor an ID in
/// the inspections, and says what to write. Slow, as all that looks.
Result<Inquiry> Inquire(const std::string& asked, const std::vector<Inspection>& inspections,
                        const Sysfs& sysfs, DeviceAncestries& ancestries);

}  // namespace patchbay
