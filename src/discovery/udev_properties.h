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

/// The number by which the kernel knows a device node.
struct DeviceNumber {
  FileType type = FileType::kCharacter;  ///< kCharacter or kBlock
  unsigned major = 0;
  unsigned minor = 0;

  bool operator==(const DeviceNumber&) const = default;
};

/// What the kernel says of a device where no text of the device can stand: by the names of
/// directories, by links, and by attributes that hold a number.
struct KernelFacts {
  std::string name;                    ///< of the directory: "eth0", "1-1.2:1.0"
  std::string subsystem;               ///< "" where the device has none
  std::string driver;                  ///< "" where none is bound
  std::string devtype;                 ///< of USB devices only; elsewhere the text may tell
  std::optional<DeviceNumber> number;  ///< from `dev`
  std::string ifindex;                 ///< of a network interface
};

/// The part of a `uevent` file that no device can have written. The kernel prints one KEY=value for
/// each line and escapes nothing, so a serial number with a newline in it looks like more lines
/// (HID_UNIQ, HID_NAME, NAME, MMC_NAME, …). Keys that only the kernel fills come first; from the
/// first other key on nothing is believed but the rest of that line, and nothing behind a key that
/// comes twice or a line without "=". Pure.
Properties TrustedUevent(std::string_view text);

/// Reads what udev and the kernel say of devices from their `uevent` files and udev's database. The
/// entry of the database is found by KernelFacts, which also hide whatever text says of the same,
/// so that no device gets the properties of another.
///
/// A value that is longer than 4,096 bytes, not UTF-8 or holds a control character is left out, as
/// is what only udev has a use for (USEC_INITIALIZED, TAGS, SEQNUM and the like), which would look
/// like a change of the device. Make one for each scan; any one thread at a time; not for the loop.
class UdevProperties {
 public:
  explicit UdevProperties(HostRoot host);

  /// All properties of the device whose directory in /sys this is. Where udev knows nothing of it
  /// there are only the kernel's. Fails with kNotFound when it is no device or has gone.
  Result<Properties> Of(const HostNode& directory, const KernelFacts& facts) const;

  /// The links below /dev that udev wanted for a device node, also where another device has them
  /// now.
  std::vector<std::string> LinksOf(const DeviceNumber& number) const;

  /// Whether there is a database of udev. Where there is none, properties such as ID_SERIAL are
  /// missing on all devices: the host's /run/udev must be mounted here.
  bool HasDatabase() const { return database_.has_value(); }

 private:
  HostRoot host_;
  Result<HostNode> database_;
};

}  // namespace patchbay
