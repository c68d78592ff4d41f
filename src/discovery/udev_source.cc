#include <charconv>

#include "base/format.h"
#include "discovery/conditions.h"
#include "discovery/numa.h"
#include "discovery/sources.h"
#include "discovery/sysfs_device.h"

namespace patchbay {
namespace {

/// Attributes that distinguish devices of one subsystem on one USB interface and do not depend on
/// the order in which devices are plugged in.
constexpr std::string_view kFixedNumbers[] = {"index", "port_number", "partition"};

/// Attributes that distinguish network interfaces of one device, such as the channels of a CAN
/// adapter, and the base of their numbers. Drivers set one of them, or both to the same value.
constexpr std::pair<std::string_view, int> kPortNumbers[] = {{"dev_port", 10}, {"dev_id", 16}};

/// Returns the port number; 0 for the first and only port, and if the driver does not set it.
unsigned PortNumber(const SysfsDevice& net, const Sysfs& sysfs) {
  unsigned port = 0;
  for (const auto& [attribute, base] : kPortNumbers) {
    std::string text = sysfs.Attribute(net.path, attribute).value_or("");
    if (text.starts_with("0x")) text.erase(0, 2);
    std::from_chars(text.data(), text.data() + text.size(), port, base);
    if (port != 0) break;
  }
  return port;
}

/// Returns the default ID: the serial number or port of a USB device, because its name depends on
/// the order in which devices are plugged in; the name of any other device.
std::string IdentityOf(const DeviceAncestry& device, const UdevPattern& udev, ScanContext& scan) {
  const SysfsDevice* usb = device.UsbDevice();
  if (usb == nullptr) return device.self().name;
  std::string identity = scan.ancestries().UsbIdentity(*usb);
  const auto add = [&](const SysfsDevice& of, std::string_view label, std::string_view attribute) {
    const auto number = scan.sysfs().Attribute(of.path, attribute);
    if (number && !number->empty()) identity.append("-").append(label).append(*number);
    return number.has_value();
  };
  if (const SysfsDevice* interface = device.UsbInterface()) {
    add(*interface, "if", "bInterfaceNumber");
  }
  for (const std::string_view attribute : kFixedNumbers) {
    for (const SysfsDevice& one : device.devices) {
      if (&one == usb || add(one, "", attribute)) break;
    }
  }
  if (device.self().subsystem == "net") {
    // The first port has no suffix, like the only port of an adapter.
    const unsigned port = PortNumber(device.self(), scan.sysfs());
    if (port != 0) identity += Format("-{}", port);
  }
  const bool one_subsystem = udev.subsystems.size() == 1 && udev.subsystems.front().literal();
  return one_subsystem ? identity : identity + "-" + device.self().subsystem;
}

}  // namespace

void ScanSource(const UdevPattern& udev, ScanContext& scan) {
  const auto wanted = [&](std::string_view subsystem) {
    return udev.subsystems.empty() || MatchesAny(udev.subsystems, std::string(subsystem));
  };
  const auto any = [](const SysfsDevice&) { return true; };
  for (const DeviceAncestry& device : scan.SysfsDevices(wanted, any)) {
    const SysfsDevice& self = device.self();
    std::optional<Unselected> unselected;
    if (auto mismatch = FirstMismatch(udev, device, scan.sysfs())) {
      unselected = Unselected{std::move(mismatch->why)};
    } else {
      unselected = scan.WhyUnselected(device);
    }
    if (std::string no_node = WhyNodeIsMissing(self); !unselected && !no_node.empty()) {
      unselected = Unselected{std::move(no_node)};
    }
    std::string excluded;
    if (unselected) {
      // A glob that names what the conditions leave out has excluded something.
      const bool is_named =
          !self.node.empty() && scan.ExcludeNode(self.node, !unselected->is_negated());
      if (unselected->is_negated() || !is_named) {
        scan.report().Drop({{"", {self.node.empty() ? self.path : self.node}, self.path},
                            DropReason::kCondition,
                            unselected->why});
      }
      if (!unselected->is_negated()) continue;
      excluded = std::move(unselected->why);
    }
    Device found;
    found.numa_node = NumaNode(scan.host(), self.path);
    NamedValues values = scan.ancestries().ValuesOf(device);
    if (self.node.empty()) {
      found.values = std::move(values);
    } else if (auto node = scan.NodeOf(self, std::move(values), &excluded)) {
      found.nodes.push_back(std::move(*node));
    } else {
      continue;
    }
    if (!excluded.empty()) {
      scan.AddExcluded(std::move(found), self.path, std::move(excluded));
    } else if (scan.Take(self)) {
      scan.AddCandidate(std::move(found), IdentityOf(device, udev, scan), self.path);
    }
  }
  ReportUnmatchedDevice(udev, scan);
}

}  // namespace patchbay
