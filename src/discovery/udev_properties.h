#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "discovery/udev_free.h"
#include "os/host_root.h"

namespace patchbay {

/// Properties of a device by name: ID_SERIAL_SHORT, DEVNAME, DEVTYPE, SUBSYSTEM, DEVLINKS.
using Properties = std::map<std::string, std::string, std::less<>>;

/// Reads what udev and the kernel say of devices: of this system by libudev, of another root from
/// the `uevent` files and udev's database below that root, to the same outcome.
///
/// A value that is longer than 4,096 bytes, not UTF-8 or holds a control character is left out, as
/// is what only udev has a use for (USEC_INITIALIZED, TAGS, SEQNUM and the like), which would look
/// like a change of the device. Make one for each pass; any one thread at a time; not for the loop.
class UdevProperties {
 public:
  explicit UdevProperties(HostRoot host);

  /// All properties of the device whose directory in /sys this is. Where udev knows nothing of it
  /// there are only the kernel's. Fails with kNotFound when it is no device or has gone.
  Result<Properties> Of(const HostNode& directory) const;

  /// Whether there is a database of udev. Where there is none, properties such as ID_SERIAL are
  /// missing on all devices: the host's /run/udev must be mounted here.
  bool HasDatabase() const { return database_.has_value(); }

 private:
  Result<Properties> BelowRoot(const HostNode& directory) const;

  HostRoot host_;
  Result<HostNode> database_;
  std::unique_ptr<udev, UdevFree> context_;  ///< null where libudev cannot look: below another root
};

}  // namespace patchbay
