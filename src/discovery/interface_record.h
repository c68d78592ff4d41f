#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "discovery/udev_properties.h"
#include "model/spec.h"

namespace patchbay {

struct SysfsDevice;
class Sysfs;

/// The beginning of the last component of InterfaceRecord::away_path.
inline constexpr std::string_view kAwayName = "away:";

/// A network interface as the host last had it. While a container has the interface, /sys of the
/// host shows only its bus device; conditions and templates then use this record.
struct InterfaceRecord {
  NetInterface interface;
  std::string name;                                                 ///< on the host
  std::map<std::string, std::string, std::less<>> attributes = {};  ///< in sysfs
  Properties properties = {};

  /// Returns the syspath while the interface is away. No interface of the host has it, because no
  /// name has a colon.
  std::string away_path() const;
  bool operator==(const InterfaceRecord&) const = default;
};

/// A record, and how the last move into a container ended.
struct KnownInterface {
  InterfaceRecord record;
  bool is_moved = false;       ///< Patchbay moved it last, and nothing failed
  std::string failure = {};    ///< why a recent move failed; "" if it did not
  bool host_needs_it = false;  ///< the reason is that the host uses the interface
};

/// Returns the syspath of the device to which the interface at a syspath belongs.
std::string BusDeviceOf(const std::string& syspath);

/// Returns what identifies the interface at a syspath of the host. May block.
NetInterface InterfaceAt(const std::string& syspath, const Sysfs& sysfs);

std::vector<InterfaceRecord> RecordsOf(const std::vector<KnownInterface>& interfaces);
/// Returns what is known of an interface, or null.
const KnownInterface* FindKnown(const std::vector<KnownInterface>& interfaces,
                                const NetInterface& interface);

/// Returns the record of an interface on the host, with the attributes that identify it and those
/// that the match compares; nothing if it moved away meanwhile. May block.
std::optional<InterfaceRecord> RecordOf(const SysfsDevice& device, const MatchSpec& match,
                                        const Sysfs& sysfs);

}  // namespace patchbay
