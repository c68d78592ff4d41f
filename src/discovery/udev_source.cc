#include <algorithm>

#include "discovery/conditions.h"
#include "discovery/numa.h"
#include "discovery/sources.h"

namespace patchbay {
namespace {

/// By the serial number or the port where it sits on USB, whose names change with the order of
/// plugging in; by its name elsewhere.
std::string IdentityOf(const Lineage& device, Scan& scan) {
  const SysfsDevice* usb = device.UsbDevice();
  if (usb == nullptr) return device.self().name;
  std::string identity = scan.lineages().UsbIdentity(*usb);
  const SysfsDevice* interface = device.UsbInterface();
  if (interface == nullptr) return identity;
  const auto number = scan.sysfs().Attribute(interface->path, "bInterfaceNumber");
  return number ? identity + "-if" + *number : identity;
}

}  // namespace

void ScanSource(const UdevPattern& udev, Scan& scan) {
  const auto wanted = [&](std::string_view subsystem) {
    const std::string name(subsystem);
    return udev.subsystems.empty() ||
           std::any_of(udev.subsystems.begin(), udev.subsystems.end(),
                       [&](const NamePattern& pattern) { return pattern.Matches(name); });
  };
  for (const Lineage& device : scan.SysfsDevices(wanted)) {
    if (auto unmet = Unmet(udev, device, scan.sysfs())) {
      scan.Drop(device.self().path, std::move(*unmet));
      continue;
    }
    Candidate candidate;
    candidate.identity = IdentityOf(device, scan);
    candidate.device.values = scan.lineages().ValuesOf(device);
    candidate.device.numa_node = NumaNode(scan.host(), device.self().path);
    if (!device.self().node.empty()) {
      auto node = scan.NodeAt(device.self().node, nullptr, {});
      if (!node) continue;
      candidate.device.nodes.push_back(std::move(*node));
    }
    if (scan.Take(device.self())) scan.AddCandidate(std::move(candidate));
  }
}

}  // namespace patchbay
