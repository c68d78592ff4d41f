#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_type.h"
#include "base/result.h"
#include "discovery/udev_properties.h"
#include "os/host_root.h"

namespace patchbay {

/// Where sysfs has its devices; all else are links to them.
inline constexpr std::string_view kSysDevices = "/sys/devices/";

/// What is known of one device of the kernel at one moment. All but `properties` is what the kernel
/// says by names, links and numbers, which no text of the device can forge.
struct SysfsDevice {
  std::string path;       ///< its syspath: the host path below /sys/devices, without links
  std::string name;       ///< the last part of the path; "!" stands for "/"
  std::string subsystem;  ///< "tty", "usb", "pci"; "" where the device has none
  std::string driver;     ///< "" where none is bound
  std::optional<DeviceNumber> number;  ///< that its node must have; nothing where it has none
  std::string node;  ///< the host path where its node should be, "" where it has none
  Properties properties;

  bool operator==(const SysfsDevice&) const = default;
};

/// What is plugged into a port, and one function of it. Both are on the bus "usb", and only the
/// name of an interface has a colon: "1-1.2" and "1-1.2:1.0".
bool IsUsbDevice(const SysfsDevice& device);
bool IsUsbInterface(const SysfsDevice& device);

/// Syspaths, sorted and each once, and what kept others from being found.
struct SysfsPaths {
  std::vector<std::string> paths;
  std::vector<Error> errors;
};

/// The kernel's tree of devices in the host's /sys. A device is a directory with a `uevent` file
/// and is named by its syspath, which all calls take and give.
///
/// Reads only files and links, so a tree of plain files works as well. Caches only the locations of
/// /sys/dev and udev's database: every call reads the files again. Create one per scan. For one
/// thread at a time; calls may block, so not for the loop.
class Sysfs {
 public:
  /// What Below stops at.
  static constexpr int kMaxLevels = 16;
  static constexpr std::size_t kMaxDevices = 4096;

  /// Is told of each place that is there and cannot be read, and why; maybe more than once.
  using OnUnreadable = std::function<void(const std::string& place, const Error& why)>;

  explicit Sysfs(HostRoot host, OnUnreadable on_unreadable = {});

  /// The devices of the subsystems whose name passes `wanted`.
  SysfsPaths Devices(const std::function<bool(std::string_view subsystem)>& wanted) const;

  /// Fails with kNotFound when the device has gone.
  Result<SysfsDevice> Read(const std::string& syspath) const;

  /// The device behind a character or block device node; one look at the file system.
  Result<std::string> OfNode(FileType type, unsigned major, unsigned minor) const;

  /// The nearest device above, if any.
  std::optional<std::string> Parent(const std::string& syspath) const;

  /// An attribute such as "idVendor" or "device/model", without newlines at its end; of a link,
  /// such as "driver", the last part of what it leads to. Fails with kInvalid for what is no text
  /// of at most 4,096 bytes: a directory, or control characters other than newline and tab.
  Result<std::string> Attribute(const std::string& syspath, std::string_view name) const;

  /// The device and all devices below it, but for those that pass `stop` and what is below them.
  SysfsPaths Below(const std::string& syspath,
                   const std::function<bool(const std::string& syspath)>& stop) const;

  const UdevProperties& properties() const { return properties_; }
  const HostRoot& host() const { return host_; }

 private:
  void AddDevicesIn(const std::string& directory, SysfsPaths& found) const;
  Result<std::string> TextAt(const std::string& path) const;
  std::optional<DeviceNumber> NumberOf(const HostNode& directory, std::string_view subsystem) const;
  void Note(const std::string& place, const Error& error, SysfsPaths& found) const;
  void Tell(const std::string& place, const Error& error) const;

  HostRoot host_;
  OnUnreadable on_unreadable_;
  UdevProperties properties_;
  Result<HostNode> character_;  ///< /sys/dev/char
  Result<HostNode> block_;      ///< /sys/dev/block
};

}  // namespace patchbay
