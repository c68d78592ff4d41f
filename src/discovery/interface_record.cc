#include "discovery/interface_record.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/number.h"
#include "base/path.h"
#include "discovery/sysfs.h"

namespace patchbay {
namespace {

/// The attributes of an interface that stay the same.
constexpr std::string_view kLasting[] = {
    "address",      "addr_assign_type", "dev_id",         "dev_port",
    "phys_port_id", "phys_port_name",   "phys_switch_id", "type"};
/// Every interface has it. It is read last.
constexpr std::string_view kLast = "type";

/// Returns a number of an attribute, which is hexadecimal after "0x"; 0 if the driver does not set
/// it.
unsigned NumberOf(const std::string& syspath, std::string_view attribute, const Sysfs& sysfs) {
  const std::string text = sysfs.Attribute(syspath, attribute).value_or("");
  const std::string_view digits = text;
  const auto number = digits.starts_with("0x") ? ParseNumber<unsigned>(digits.substr(2), 16)
                                               : ParseNumber<unsigned>(digits);
  return number.value_or(0);
}

}  // namespace

std::string InterfaceRecord::away_path() const {
  return Format("{}/net/{}{}:{}", interface.bus_device, kAwayName, interface.dev_port,
                interface.dev_id);
}

std::string BusDeviceOf(const std::string& syspath) {
  const std::string above = DirectoryOf(syspath);
  return above.ends_with("/net") ? DirectoryOf(above) : above;
}

NetInterface InterfaceAt(const std::string& syspath, const Sysfs& sysfs) {
  NetInterface found{.bus_device = BusDeviceOf(syspath)};
  found.dev_port = NumberOf(syspath, "dev_port", sysfs);
  found.dev_id = NumberOf(syspath, "dev_id", sysfs);
  // 0: not set by anyone, so it is the permanent one.
  const std::string assigned = sysfs.Attribute(syspath, "addr_assign_type").value_or("");
  if (assigned == "0") found.address = sysfs.Attribute(syspath, "address").value_or("");
  return found;
}

std::vector<InterfaceRecord> RecordsOf(const std::vector<KnownInterface>& interfaces) {
  std::vector<InterfaceRecord> records;
  records.reserve(interfaces.size());
  for (const KnownInterface& known : interfaces) records.push_back(known.record);
  return records;
}

const KnownInterface* FindKnown(const std::vector<KnownInterface>& interfaces,
                                const NetInterface& interface) {
  const auto found = std::ranges::find_if(interfaces, [&](const KnownInterface& known) {
    return IsSameInterface(known.record.interface, interface);
  });
  return found == interfaces.end() ? nullptr : &*found;
}

std::optional<InterfaceRecord> RecordOf(const SysfsDevice& device, const MatchSpec& match,
                                        const Sysfs& sysfs) {
  InterfaceRecord record{.interface = InterfaceAt(device.path, sysfs),
                         .name = device.name,
                         .properties = device.properties};
  const auto add = [&](const std::string& name) {
    if (auto value = sysfs.Attribute(device.path, name)) {
      record.attributes.emplace(name, *std::move(value));
    }
  };
  const auto add_compared = [&](const UdevPattern* udev) {
    if (udev == nullptr) return;
    for (const auto& [name, patterns] : udev->attributes) add(name);
  };
  add_compared(std::get_if<UdevPattern>(&match.source));
  for (const HardwarePatterns* patterns : {&match.conditions, &match.negated}) {
    add_compared(patterns->udev ? &*patterns->udev : nullptr);
  }
  for (const std::string_view name : kLasting) add(std::string(name));
  return record.attributes.contains(kLast) ? std::optional(std::move(record)) : std::nullopt;
}

}  // namespace patchbay
