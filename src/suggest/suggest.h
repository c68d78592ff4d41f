#pragma once

#include <cstddef>
#include <string>

#include "os/host_root.h"

namespace patchbay {

/// The result of a search for devices on a host.
struct Suggestions {
  std::string toml;            ///< a file that check accepts; "" if there is no device
  std::size_t used_disks = 0;  ///< left out, because the host uses them
};

/// Returns a configuration with one resource for each kind of device that the host has and
/// containers use. Each match finds one device, also after a restart, see identity.h. Dangerous
/// devices are comments, with the reason. Text of devices is escaped. Reads /sys, udev's database
/// and tables of /proc; may block.
Suggestions Suggest(const HostRoot& host);

}  // namespace patchbay
