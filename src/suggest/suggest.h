#pragma once

#include <string>
#include <vector>

#include "os/host_root.h"

namespace patchbay {

/// What suggest found on a host.
struct Suggestions {
  std::string toml;            ///< a file that check accepts; without resources if there are none
  std::size_t devices = 0;     ///< in the file, without those in comments
  std::size_t used_disks = 0;  ///< left out, because the host uses them
};

/// Returns a configuration with one resource for each kind of device that the host has and
/// containers use. Each match finds one device and stays right after a restart, see identity.h.
/// What is dangerous is in comments, with the reason. Text of devices is escaped. Reads sysfs,
/// udev's database and the tables of mounts; may block.
Suggestions Suggest(const HostRoot& host);

}  // namespace patchbay
