#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_type.h"
#include "base/result.h"
#include "discovery/interface_record.h"
#include "discovery/udev_properties.h"
#include "os/host_root.h"

namespace patchbay {

/// The directory of all devices in sysfs. Other directories contain links to it.
inline constexpr std::string_view kSysDevices = "/sys/devices/";

/// A sysfs device at a point in time. All fields except `properties` come from directory names,
/// links and numbers of the kernel, which text from the device cannot forge.
struct SysfsDevice {
  std::string path;       ///< its syspath: the host path below /sys/devices, without links
  std::string name;       ///< the last component of the path; "!" replaces "/"
  std::string subsystem;  ///< "tty", "usb", "pci"; empty if it has none
  std::string driver;     ///< empty if none is bound
  std::optional<DeviceNumber> number;  ///< of its node; absent if it has none
  std::string node;                    ///< the expected host path of its node; empty if it has none
  Properties properties;
  bool is_away = false;  ///< a network interface that a container has, as recorded

  bool operator==(const SysfsDevice&) const = default;
};

/// Return whether the device is a USB device ("1-1.2") or a USB interface ("1-1.2:1.0"). Both have
/// the subsystem "usb", and only the name of an interface has a colon.
bool IsUsbDevice(const SysfsDevice& device);
bool IsUsbInterface(const SysfsDevice& device);

/// Returns why a container gets nothing with a device that has no node although others of its
/// subsystem do: a path of NVMe multipath, a sound card, an input device, a connector of a graphics
/// card. Empty for any other device.
std::string WhyNodeIsMissing(const SysfsDevice& device);

/// Syspaths, sorted and unique, and the places that could not be read.
struct SysfsPaths {
  std::vector<std::string> paths;
  std::vector<Error> errors;
};

/// The kernel's tree of devices in the host's /sys. A device is a directory with a `uevent` file
/// and is identified by its syspath.
///
/// Reads only files and links, so a tree of plain files works as well. Caches only the locations of
/// /sys/dev and udev's database: every call reads the files again. Create one per scan. For one
/// thread at a time; calls may block, so not for the loop.
class Sysfs {
 public:
  /// Returns whether Below stops at a device.
  static constexpr int kMaxLevels = 16;
  static constexpr std::size_t kMaxDevices = 4096;

  /// Called with each place that exists and cannot be read, and why; possibly more than once.
  using OnUnreadable = std::function<void(const std::string& place, const Error& why)>;

  /// `interfaces` are devices, too, while they are away: their bus device is there, but not they.
  explicit Sysfs(HostRoot host, OnUnreadable on_unreadable = {},
                 std::vector<InterfaceRecord> interfaces = {});

  /// Returns the devices of the subsystems whose name is `wanted`.
  SysfsPaths Devices(const std::function<bool(std::string_view subsystem)>& wanted) const;

  /// Returns a device. Fails with kNotFound if it was removed.
  Result<SysfsDevice> Read(const std::string& syspath) const;

  /// Returns the syspath of a character or block device node, with one lookup.
  Result<std::string> OfNode(FileType type, unsigned major, unsigned minor) const;

  /// Returns the nearest parent device, or nothing.
  std::optional<std::string> Parent(const std::string& syspath) const;

  /// Returns an attribute such as "idVendor" or "device/model", without newlines at its end. For a
  /// link such as "driver", returns the last component of its target. Fails with kInvalid if it is
  /// not text of at most 4,096 bytes: a directory, or control characters other than newline and
  /// tab.
  Result<std::string> Attribute(const std::string& syspath, std::string_view name) const;

  /// Returns the device and all its descendants, except those that pass `stop` and their
  /// descendants.
  SysfsPaths Below(const std::string& syspath,
                   const std::function<bool(const std::string& syspath)>& stop) const;

  const UdevProperties& properties() const { return properties_; }
  const HostRoot& host() const { return host_; }

 private:
  void AddDevicesIn(const std::string& directory, SysfsPaths& found) const;
  Result<std::string> TextIn(const Result<HostNode>& directory, const std::string& path) const;
  std::optional<DeviceNumber> NumberOf(const HostNode& directory, std::string_view subsystem) const;
  void Note(const std::string& place, const Error& error, SysfsPaths& found) const;
  void AddAway(SysfsPaths& found) const;
  const InterfaceRecord* AwayAt(const std::string& syspath) const;
  void ReportError(const std::string& place, const Error& error) const;

  HostRoot host_;
  OnUnreadable on_unreadable_;
  std::map<std::string, InterfaceRecord> interfaces_;  ///< by InterfaceRecord::away_path
  UdevProperties properties_;
  Result<HostNode> character_;  ///< /sys/dev/char
  Result<HostNode> block_;      ///< /sys/dev/block
};

}  // namespace patchbay
