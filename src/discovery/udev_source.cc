#include "base/format.h"
#include "base/path.h"
#include "discovery/conditions.h"
#include "discovery/movable_interface.h"
#include "discovery/numa.h"
#include "discovery/sources.h"
#include "discovery/sysfs_device.h"

namespace patchbay {
namespace {

/// Attributes that distinguish devices of one subsystem on one USB interface and do not depend on
/// the order in which devices are plugged in.
constexpr std::string_view kFixedNumbers[] = {"index", "port_number", "partition"};

/// Returns the number of an interface among those of its device, such as the channels of a CAN
/// adapter; 0 for the first and only one. Drivers set one of the two, or both to the same value.
unsigned PortNumber(const NetInterface& interface) {
  return interface.dev_port != 0 ? interface.dev_port : interface.dev_id;
}

/// Returns the address of a PCI function, or the name of another bus device, for an interface whose
/// name a container can change.
std::string BusIdentityOf(const DeviceAncestry& device, const NetInterface& interface) {
  const SysfsDevice* pci = device.PciDevice();
  const std::string identity(pci != nullptr ? pci->name : BaseName(interface.bus_device));
  const unsigned port = PortNumber(interface);
  return port == 0 ? identity : Format("{}-{}", identity, port);
}

/// Returns the default ID: the serial number or port of a USB device, because its name depends on
/// the order in which devices are plugged in; the name of any other device.
std::string IdentityOf(const DeviceAncestry& device, const UdevPattern& udev,
                       const std::optional<NetInterface>& moving, ScanContext& scan) {
  const SysfsDevice* usb = device.UsbDevice();
  if (usb == nullptr && moving) return BusIdentityOf(device, *moving);
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
    const unsigned port =
        PortNumber(moving ? *moving : InterfaceAt(device.self().path, scan.sysfs()));
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
    // An interface that is away has no directory.
    found.numa_node = NumaNode(scan.host(), self.is_away ? BusDeviceOf(self.path) : self.path);
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
      std::string unhealthy;
      if (scan.moves_interfaces()) {
        found.interface = MovableInterface(self, scan, unhealthy);
        if (!found.interface) continue;
      }
      std::string identity = IdentityOf(device, udev, found.interface, scan);
      scan.AddCandidate(std::move(found), std::move(identity), self.path, std::move(unhealthy));
    }
  }
  ReportUnmatchedDevice(udev, scan);
}

}  // namespace patchbay
