#include "cli/inquiry.h"

#include <algorithm>

#include "base/format.h"
#include "base/path.h"
#include "cli/access_hints.h"

namespace patchbay {
namespace {

template <class Things>
bool HasId(const Things& things, const std::string& id) {
  return std::any_of(things.begin(), things.end(), [&](const auto& one) { return one.id == id; });
}

bool IsId(const std::string& asked, const std::vector<Inspection>& inspections) {
  return std::any_of(inspections.begin(), inspections.end(), [&](const Inspection& inspection) {
    const auto& reports = inspection.reports;
    return FindAdvertised(*inspection.snapshot, asked).listed != nullptr ||
           std::any_of(reports.begin(), reports.end(), [&](const MatchReport& report) {
             return HasId(report.found, asked) || HasId(report.rejected, asked) ||
                    HasId(report.drops, asked);
           });
  });
}

std::vector<std::string> DevicesNamed(const std::string& name, const Sysfs& sysfs) {
  auto [paths, errors] = sysfs.Devices([](std::string_view) { return true; });
  std::erase_if(paths, [&](const std::string& path) { return BaseName(path) != name; });
  return paths;
}

/// Returns the sysfs device of a resolved host path: of a device node by its number, or the nearest
/// one at or above a path in /sys/devices.
std::optional<std::string> DeviceAt(const HostNode& node, const Sysfs& sysfs) {
  if (node.path.starts_with("/sys/devices/")) return sysfs.Parent(node.path + "/uevent");
  auto device = sysfs.OfNode(node.type, node.major, node.minor);
  return device ? std::optional(std::move(*device)) : std::nullopt;
}

/// Describes the nearest USB device or PCI function at or above a device.
std::string Bearer(const DeviceAncestry& device, DeviceAncestries& ancestries) {
  const auto owner = [&](const SysfsDevice& bearer) {
    return bearer.path == device.self().path ? "the" : "of the";
  };
  if (const SysfsDevice* usb = device.UsbDevice()) {
    const std::string numbers = ancestries.NumbersOf(*usb), identity = ancestries.UsbIdentity(*usb);
    const auto text = format("{} USB device {} at port {}", owner(*usb), numbers, usb->name);
    const bool has_serial = identity[numbers.size()] == '-';
    return has_serial ? text + " with serial number " + identity.substr(numbers.size() + 1) : text;
  }
  if (const SysfsDevice* pci = device.PciDevice()) {
    return format("{} PCI device {} at {}", owner(*pci), ancestries.NumbersOf(*pci), pci->name);
  }
  return "";
}

std::string Describe(const Inquiry& inquiry, const std::string& leads_to,
                     DeviceAncestries& ancestries) {
  if (inquiry.error) {
    if (inquiry.error->kind != ErrorKind::kNotFound) return inquiry.error->message;
    return leads_to.empty() ? "it does not exist" : "a link to " + leads_to + ", where nothing is";
  }
  std::string text = leads_to.empty() ? "" : "it leads to " + leads_to;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (inquiry.type) add(std::string(Describe(*inquiry.type)));
  for (const std::string& path : inquiry.syspaths) {
    const auto device = ancestries.Of(path);
    if (!device) continue;
    if (!inquiry.type && path != leads_to) add(path);
    const std::string bearer = Bearer(*device, ancestries);
    if (bearer.empty()) continue;
    add(bearer);
    break;
  }
  return text;
}

void AddNew(std::string path, std::vector<std::string>& paths) {
  if (path.empty() || std::find(paths.begin(), paths.end(), path) != paths.end()) return;
  paths.push_back(std::move(path));
}

Failure WhatToWrite(const std::string& asked, const HostRoot& host) {
  std::string meant;
  for (const std::string above : {"/", "/dev/"}) {
    const auto node = host.Resolve(above + asked);
    if (node && node->type != FileType::kDirectory) meant = above + asked;
  }
  return Fail(
      ErrorKind::kInvalid,
      format("\"{}\" is not a path, and there is no device with this ID or name in sysfs: {}",
             asked,
             meant.empty() ? "write a path such as /dev/ttyUSB0, an ID that `patchbay "
                             "devices` lists, or a name such as 1-1.2, can0 or 0000:00:05.0"
                           : format("did you mean {}?", meant)));
}

}  // namespace

std::string ShortestPath(const std::string& asked) {
  if (!asked.starts_with('/')) return asked;
  std::string path = FollowLink("", asked);
  return path.empty() ? "/" : path;
}

Result<Inquiry> Inquire(const std::string& asked, const std::vector<Inspection>& inspections,
                        const Sysfs& sysfs, DeviceAncestries& ancestries) {
  const HostRoot& host = sysfs.host();
  Inquiry inquiry{ShortestPath(asked)};
  std::string leads_to;
  if (inquiry.asked.starts_with('/')) {
    inquiry.paths.push_back(inquiry.asked);
    if (const auto link = host.ReadLink(inquiry.asked)) leads_to = *link;
    auto node = host.Resolve(inquiry.asked);
    if (node) {
      if (!node->path.starts_with("/sys/devices/")) inquiry.type = node->type;
      if (node->path != inquiry.asked) leads_to = node->path;
      AddNew(node->path, inquiry.paths);
      if (auto device = DeviceAt(*node, sysfs)) inquiry.syspaths.push_back(std::move(*device));
    } else {
      inquiry.hint = AccessHint(CheckAccess(host, inquiry.asked), host);
      inquiry.error = std::move(node).error();
    }
  } else {
    inquiry.syspaths = DevicesNamed(inquiry.asked, sysfs);
    if (inquiry.syspaths.empty() && !IsId(inquiry.asked, inspections)) {
      return WhatToWrite(inquiry.asked, host);
    }
  }
  for (const std::string& path : inquiry.syspaths) {
    const auto device = ancestries.Of(path);
    if (device) AddNew(device->self().node, inquiry.paths);
  }
  inquiry.description = Describe(inquiry, leads_to, ancestries);
  return inquiry;
}

}  // namespace patchbay
