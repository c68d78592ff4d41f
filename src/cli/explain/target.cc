#include "cli/explain/target.h"

#include <algorithm>

#include "base/format.h"
#include "base/path.h"
#include "cli/access_hints.h"
#include "cli/slice_preview.h"
#include "model/snapshot.h"

namespace patchbay {
namespace {

template <class Things>
bool HasId(const Things& things, const std::string& id) {
  return std::any_of(things.begin(), things.end(), [&](const auto& one) { return one.id == id; });
}

bool IsId(const std::string& argument, const std::vector<Inspection>& inspections) {
  return std::any_of(inspections.begin(), inspections.end(), [&](const Inspection& inspection) {
    const auto& reports = inspection.reports;
    return FindAdvertised(*inspection.snapshot, argument).listed != nullptr ||
           std::any_of(reports.begin(), reports.end(), [&](const MatchReport& report) {
             return HasId(report.found, argument) || HasId(report.rejected, argument) ||
                    HasId(report.drops, argument);
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
std::string ParentText(const DeviceAncestry& device, DeviceAncestries& ancestries) {
  const auto owner = [&](const SysfsDevice& parent) {
    return parent.path == device.self().path ? "the" : "of the";
  };
  if (const SysfsDevice* usb = device.UsbDevice()) {
    const std::string numbers = ancestries.NumbersOf(*usb), identity = ancestries.UsbIdentity(*usb);
    const auto text = Format("{} USB device {} at port {}", owner(*usb), numbers, usb->name);
    const bool has_serial = identity[numbers.size()] == '-';
    return has_serial ? text + " with serial number " + identity.substr(numbers.size() + 1) : text;
  }
  if (const SysfsDevice* pci = device.PciDevice()) {
    return Format("{} PCI device {} at {}", owner(*pci), ancestries.NumbersOf(*pci), pci->name);
  }
  return "";
}

std::string Describe(const ExplainTarget& target, const std::string& leads_to,
                     DeviceAncestries& ancestries) {
  if (target.error) {
    if (target.error->kind != ErrorKind::kNotFound) return target.error->message;
    return leads_to.empty() ? "it does not exist" : "a dangling link to " + leads_to;
  }
  std::string text = leads_to.empty() ? "" : "it leads to " + leads_to;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (target.type) add(std::string(Describe(*target.type)));
  for (const std::string& path : target.syspaths) {
    const auto device = ancestries.Of(path);
    if (!device) continue;
    if (!target.type && path != leads_to) add(path);
    const std::string parent = ParentText(*device, ancestries);
    if (parent.empty()) continue;
    add(parent);
    break;
  }
  return text;
}

void AddNew(std::string path, std::vector<std::string>& paths) {
  if (path.empty() || std::find(paths.begin(), paths.end(), path) != paths.end()) return;
  paths.push_back(std::move(path));
}

Failure InvalidTarget(const std::string& argument, const HostRoot& host) {
  std::string suggestion;
  for (const std::string above : {"/", "/dev/"}) {
    const auto node = host.Resolve(above + argument);
    if (node && node->type != FileType::kDirectory) suggestion = above + argument;
  }
  return Fail(
      ErrorKind::kInvalid,
      Format("\"{}\" is not a path, and there is no device with this ID or name in sysfs: {}",
             argument,
             suggestion.empty() ? "write a path such as /dev/ttyUSB0, the ID of a device that "
                                  "is listed, or a name such as 1-1.2, can0 or 0000:00:05.0"
                                : Format("did you mean {}?", suggestion)));
}

}  // namespace

std::string NormalizedPath(const std::string& argument) {
  if (!argument.starts_with('/')) return argument;
  std::string path = FollowLink("", argument);
  return path.empty() ? "/" : path;
}

Result<ExplainTarget> ResolveTarget(const std::string& argument,
                                    const std::vector<Inspection>& inspections, const Sysfs& sysfs,
                                    DeviceAncestries& ancestries) {
  const HostRoot& host = sysfs.host();
  ExplainTarget target{NormalizedPath(argument)};
  std::string leads_to;
  if (target.argument.starts_with('/')) {
    target.paths.push_back(target.argument);
    if (const auto link = host.ReadLink(target.argument)) leads_to = *link;
    auto node = host.Resolve(target.argument);
    if (node) {
      if (!node->path.starts_with("/sys/devices/")) target.type = node->type;
      if (node->path != target.argument) leads_to = node->path;
      AddNew(node->path, target.paths);
      if (auto device = DeviceAt(*node, sysfs)) target.syspaths.push_back(std::move(*device));
    } else {
      target.hint = AccessHint(CheckAccess(host, target.argument), host);
      target.error = std::move(node).error();
    }
  } else {
    target.syspaths = DevicesNamed(target.argument, sysfs);
    if (target.syspaths.empty() && !IsId(target.argument, inspections)) {
      const auto slot = ParseReplica(argument);  // logs name a slot of a device "name::1"
      for (const Inspection& inspection : inspections) {
        const auto id =
            IdOfSliceName(inspection.snapshot, slot ? slot->device_id : std::string_view(argument));
        if (!id) continue;
        return ExplainTarget{.argument = *id,
                             .description = Format("{} in ResourceSlices", argument)};
      }
      return InvalidTarget(target.argument, host);
    }
  }
  for (const std::string& path : target.syspaths) {
    const auto device = ancestries.Of(path);
    if (device) AddNew(device->self().node, target.paths);
  }
  target.description = Describe(target, leads_to, ancestries);
  return target;
}

}  // namespace patchbay
