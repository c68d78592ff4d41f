#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_type.h"
#include "base/result.h"
#include "os/host_root.h"

namespace patchbay {

/// Properties of a device by name: ID_SERIAL_SHORT, DEVNAME, DEVTYPE, SUBSYSTEM, DEVLINKS.
using Properties = std::map<std::string, std::string, std::less<>>;

/// The device number of a device node.
struct DeviceNumber {
  FileType type = FileType::kCharacter;  ///< kCharacter or kBlock
  unsigned major = 0;
  unsigned minor = 0;

  bool operator==(const DeviceNumber&) const = default;
};

/// Values of a device that come from the kernel only: directory names, links and numeric
/// attributes. Text from the device cannot forge them.
struct KernelFacts {
  std::string name;                    ///< the name of the directory: "eth0", "1-1.2:1.0"
  std::string subsystem;               ///< empty if it has none
  std::string driver;                  ///< empty if none is bound
  std::string devtype;                 ///< only for USB devices; otherwise see `uevent`
  std::optional<DeviceNumber> number;  ///< from `dev`
  std::string ifindex;                 ///< of a network interface
};

/// Returns the trusted part of a `uevent` file. The kernel writes lines of KEY=value without
/// escaping, so a serial number with a newline looks like further lines (HID_UNIQ, HID_NAME, NAME,
/// MMC_NAME, …). The keys that only the kernel sets come first. The result ends after the first
/// line with any other key, before a repeated key, and before a line without "=". Pure.
Properties TrustedUevent(std::string_view text);

/// Reads the properties of devices from their `uevent` files and the udev database. KernelFacts
/// select the database entry and override properties with the same meaning, so that no device gets
/// the properties of another.
///
/// Ignores values that are longer than 4,096 bytes, not UTF-8, or contain control characters, and
/// properties for internal use of udev (such as USEC_INITIALIZED, TAGS, SEQNUM), which would look
/// like a change of the device. Create one per scan. For one thread at a time, not the loop.
class UdevProperties {
 public:
  explicit UdevProperties(HostRoot host);

  /// Returns all properties of the device at a syspath; without a database entry, only those of the
  /// kernel. Fails with kNotFound if it is not a device or was removed.
  Result<Properties> Of(const HostNode& directory, const KernelFacts& facts) const;

  /// Returns the links in /dev that udev requested for a device node, including those that another
  /// device has now.
  std::vector<std::string> LinksOf(const DeviceNumber& number) const;

  /// Returns whether the udev database exists. Without it, all devices lack properties such as
  /// ID_SERIAL: /run/udev of the host must be mounted.
  bool HasDatabase() const { return database_.has_value(); }

 private:
  HostRoot host_;
  Result<HostNode> database_;
};

}  // namespace patchbay
