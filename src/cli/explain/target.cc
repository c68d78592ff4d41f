#include "cli/explain/target.h"

#include <algorithm>

#include "base/format.h"
#include "base/path.h"
#include "discovery/device_ancestry.h"
#include "discovery/vfio.h"

namespace patchbay {
namespace {

/// Removes duplicate slashes, "." and ".." from a path, by its text alone.
std::string Normalized(const std::string& argument) {
  if (!argument.starts_with('/')) return argument;
  std::string path = FollowLink("", argument);
  return path.empty() ? "/" : path;
}

std::vector<std::string> DevicesNamed(const std::string& name, const Sysfs& sysfs) {
  auto [paths, errors] = sysfs.Devices([](std::string_view) { return true; });
  std::erase_if(paths, [&](const std::string& path) { return BaseName(path) != name; });
  return paths;
}

/// Returns the sysfs device of a resolved host path: of a device node by its number, or the nearest
/// one at or above a path in /sys/devices.
std::optional<std::string> DeviceAt(const HostNode& node, const Sysfs& sysfs) {
  if (node.path.starts_with(kSysDevices)) return sysfs.Parent(node.path + "/uevent");
  auto device = sysfs.OfNode(node.type, node.major, node.minor);
  return device ? std::optional(std::move(*device)) : std::nullopt;
}

/// Describes the nearest USB device or PCI function at or above a device, or returns "".
std::string ParentText(const DeviceAncestry& device, DeviceAncestries& ancestries) {
  const SysfsDevice* const usb = device.UsbDevice();
  const SysfsDevice* const parent = usb == nullptr ? device.PciDevice() : usb;
  if (parent == nullptr) return "";
  const std::string numbers = ancestries.NumbersOf(*parent);
  std::string text =
      Format("{} {} device {} at {}{}", parent == &device.self() ? "the" : "of the",
             usb == nullptr ? "PCI" : "USB", numbers, usb == nullptr ? "" : "port ", parent->name);
  const std::string identity = usb == nullptr ? "" : ancestries.UsbIdentity(*usb);
  if (identity.starts_with(numbers + "-")) {
    text += " with serial number " + identity.substr(numbers.size() + 1);
  }
  return text;
}

void AddFact(const std::string& fact, std::string& description) {
  if (!fact.empty()) description += (description.empty() ? "" : ", ") + fact;
}

}  // namespace

bool ExplainTarget::HasPath(const std::string& path) const {
  return std::ranges::find(paths, path) != paths.end();
}

std::vector<std::string> ExplainTarget::Names() const {
  std::vector<std::string> names = {argument};
  names.insert(names.end(), paths.begin(), paths.end());
  names.insert(names.end(), syspaths.begin(), syspaths.end());
  names.insert(names.end(), functions.begin(), functions.end());
  return names;
}

ExplainTarget FindTarget(const std::string& argument, const HostRoot& host) {
  const Sysfs sysfs(host);
  DeviceAncestries ancestries(sysfs);
  ExplainTarget target{Normalized(argument)};
  bool is_node = false;
  if (target.is_path()) {
    target.paths = {target.argument};
    const auto node = host.Resolve(target.argument);
    if (!node) {
      target.description = node.error().message;
      return target;
    }
    if (node->path != target.argument) {
      target.paths.push_back(node->path);
      target.description = "it leads to " + node->path;
    }
    is_node = !node->path.starts_with(kSysDevices);
    if (is_node) AddFact(std::string(Describe(node->type)), target.description);
    if (auto device = DeviceAt(*node, sysfs)) target.syspaths.push_back(std::move(*device));
    target.functions = VfioFunctionsOf(node->path, host);
  } else {
    target.syspaths = DevicesNamed(target.argument, sysfs);
  }
  std::string parent;
  for (const std::string& path : target.syspaths) {
    const auto device = ancestries.Of(path);
    if (!device) continue;
    if (!is_node && !target.HasPath(path)) AddFact(path, target.description);
    const std::string& node = device->self().node;
    if (!node.empty() && !target.HasPath(node)) target.paths.push_back(node);
    if (parent.empty()) parent = ParentText(*device, ancestries);
  }
  for (const std::string& path : target.functions) {
    const auto device = ancestries.Of(path);
    if (device) AddFact("of " + ParentText(*device, ancestries), target.description);
  }
  AddFact(parent, target.description);
  return target;
}

}  // namespace patchbay
