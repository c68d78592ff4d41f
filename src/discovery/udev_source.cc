#include "discovery/conditions.h"
#include "discovery/numa.h"
#include "discovery/sources.h"

namespace patchbay {
namespace {

/// What tells apart devices of one subsystem on one USB interface, and does not change with the
/// order of plugging in.
constexpr std::string_view kFixedNumbers[] = {"index", "port_number", "partition"};

/// By the serial number or the port where it sits on USB, whose names change with the order of
/// plugging in; by its name elsewhere.
std::string IdentityOf(const Lineage& device, const UdevPattern& udev, Scan& scan) {
  const SysfsDevice* usb = device.UsbDevice();
  if (usb == nullptr) return device.self().name;
  std::string identity = scan.lineages().UsbIdentity(*usb);
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
  const bool one_subsystem = udev.subsystems.size() == 1 && udev.subsystems.front().literal();
  return one_subsystem ? identity : identity + "-" + device.self().subsystem;
}

}  // namespace

void ScanSource(const UdevPattern& udev, Scan& scan) {
  const auto wanted = [&](std::string_view subsystem) {
    return udev.subsystems.empty() || MatchesAny(udev.subsystems, std::string(subsystem));
  };
  for (const Lineage& device : scan.SysfsDevices(wanted)) {
    if (auto unmet = Unmet(udev, device, scan.sysfs())) {
      scan.Drop(device.self().path, std::move(*unmet));
      continue;
    }
    Candidate candidate;
    candidate.identity = IdentityOf(device, udev, scan);
    candidate.device.numa_node = NumaNode(scan.host(), device.self().path);
    NamedValues values = scan.lineages().ValuesOf(device);
    const std::string& path = device.self().node;
    if (path.empty()) {
      candidate.device.values = std::move(values);
    } else if (auto node = scan.NodeAt(path, nullptr, std::move(values))) {
      candidate.device.nodes.push_back(std::move(*node));
    } else {
      continue;
    }
    if (scan.Take(device.self())) scan.AddCandidate(std::move(candidate));
  }
}

}  // namespace patchbay
