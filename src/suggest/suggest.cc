#include "suggest/suggest.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/format.h"
#include "config/toml_writer.h"
#include "discovery/disk_use.h"
#include "model/glob.h"
#include "suggest/default_routes.h"
#include "suggest/identity.h"
#include "suggest/kinds.h"

namespace patchbay {
namespace {

constexpr std::string_view kDomain = "example.com/";
constexpr std::size_t kMaxMatches = 100;  ///< of a resource; limits the text, not the time
constexpr int kSharedReplicas = 20;

/// Returns a text that only the parts of one device of a kind have in common: the directory in
/// sysfs that contains them.
std::string WholeOf(const DeviceKind& kind, const DeviceAncestry& device, const Sysfs& sysfs) {
  // On VFIO, the functions of an IOMMU group have one node.
  if (kind.subsystem == "pci") {
    const auto group = sysfs.Attribute(device.self().path, "iommu_group");
    if (group) return *group;
  }
  if (!kind.traits.is_whole) return device.self().path;
  if (const SysfsDevice* usb = device.UsbDevice()) return usb->path;
  // An optical drive is one of the disks of a PCI function.
  const SysfsDevice* pci = device.PciDevice();
  if (pci != nullptr && kind.resource != "optical") return pci->path;
  return device.devices.size() > 1 ? device.devices[1].get().path : device.self().path;
}

/// Returns whether a device is hardware that a pod can get. A virtual network interface has no
/// parent on a bus, and a wireless one is useless without its radio. Pods get disks, no partitions.
bool IsUsable(const DeviceAncestry& device) {
  const SysfsDevice& self = device.self();
  const auto found = self.properties.find("DEVTYPE");
  const std::string type = found == self.properties.end() ? "" : found->second;
  if (self.subsystem == "pci") return true;
  if (self.subsystem != "net") return !self.node.empty() && type != "partition";
  const bool has_bus = device.devices.size() > 1 && !device.devices[1].get().subsystem.empty();
  return has_bus && type != "wlan";
}

/// Returns the devices of a host, ordered by kind and place.
std::vector<HostDevice> DevicesOf(DeviceAncestries& ancestries, const Sysfs& sysfs) {
  std::map<std::pair<const DeviceKind*, std::string>, HostDevice> devices;
  const auto is_known = [](std::string_view name) { return IsSubsystemOfKind(std::string(name)); };
  for (const std::string& path : sysfs.Devices(is_known).paths) {
    const auto device = ancestries.Of(path);
    if (!device || !IsUsable(*device)) continue;
    const DeviceKind* kind = KindOf(*device, ancestries, sysfs);
    if (kind == nullptr) continue;
    HostDevice& whole = devices[{kind, WholeOf(*kind, *device, sysfs)}];
    whole.kind = kind;
    whole.parts.push_back(*device);
  }
  std::vector<HostDevice> list;
  list.reserve(devices.size());
  for (auto& [key, device] : devices) list.push_back(std::move(device));
  return list;
}

/// Returns whether the host uses a disk, or may use it.
bool IsUsed(const SysfsDevice& disk, DiskUse& uses) {
  if (!disk.number) return true;
  const auto use = uses.Of(
      {disk.node, disk.node, disk.number->type, disk.number->major, disk.number->minor, {}});
  return !use || !use->empty();
}

/// Returns those of the alternatives of a glob that match a node. Only the last component of each
/// can have wildcards.
std::vector<std::string> ExistingNodes(const HostRoot& host, std::string_view glob) {
  std::vector<std::string> existing;
  const Glob compiled = Glob::Compile(glob).value();
  for (const Glob::Components& path : compiled.alternatives()) {
    std::string directory;
    for (std::size_t i = 0; i + 1 < path.size(); ++i) directory += "/" + path[i].name.text();
    const NamePattern& name = path.back().name;
    const auto found = host.List(directory, [&](const auto& entry) { return name.Matches(entry); });
    if (found && !found->empty()) existing.push_back(directory + "/" + name.text());
  }
  return existing;
}

NewResource ResourceNamed(std::string_view name) {
  return {.name = std::string(kDomain).append(name), .nodes = {NewNode{}}};
}

/// Makes a comment of the match, with the reason.
void Withhold(std::string_view danger, NewMatch& match) {
  if (danger.empty()) return;
  match.is_comment = true;
  match.notes.push_back(Format("It is a comment because {}.", danger));
}

void AddSharedResources(const HostRoot& host, std::vector<NewResource>& resources) {
  for (const SharedKind& nodes : SharedNodeKinds()) {
    NewMatch match;
    match.paths = ExistingNodes(host, nodes.paths);
    if (match.paths.empty()) continue;
    NewResource resource = ResourceNamed(nodes.resource);
    resource.replicas = kSharedReplicas;
    match.notes = {Format("For {}.", nodes.what)};
    match.together = match.paths.size() > 1 || match.paths.front().ends_with('*');
    if (match.together) match.id = nodes.resource;
    Withhold(nodes.danger, match);
    resource.matches.push_back(std::move(match));
    resources.push_back(std::move(resource));
  }
}

}  // namespace

Suggestions Suggest(const HostRoot& host) {
  const Sysfs sysfs(host);
  DeviceAncestries ancestries(sysfs);
  const DefaultRoutes routes(host);
  DiskUse uses(sysfs);
  Suggestions suggestions;
  std::vector<NewResource> resources;
  std::size_t left_out = 0;
  const std::vector<HostDevice> devices = DevicesOf(ancestries, sysfs);
  auto matches = Identify(devices, ancestries, sysfs);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const DeviceKind& kind = *devices[i].kind;
    const DeviceAncestry& part = devices[i].parts.front();
    if (kind.resource == "disk" && IsUsed(part.self(), uses)) {
      ++suggestions.used_disks;
      continue;
    }
    if (!matches[i]) continue;
    NewResource added = ResourceNamed(kind.resource);
    if (resources.empty() || resources.back().name != added.name) {
      if (!kind.traits.also.empty()) {
        added.nodes.push_back({.host_path = std::string(kind.traits.also), .optional = true});
      }
      if (kind.subsystem == "net") added.env = {{"INTERFACES", "{INTERFACE}"}};
      resources.push_back(std::move(added));
      left_out = 0;
    }
    NewResource& resource = resources.back();
    if (resource.matches.size() == kMaxMatches) {
      resource.notes = {Format("{} more devices of this kind are left out.", ++left_out)};
      continue;
    }
    Withhold(kind.resource == "nic" ? routes.DangerOf(part.self()) : DangerOf(kind, part, sysfs),
             *matches[i]);
    resource.matches.push_back(std::move(*matches[i]));
  }
  AddSharedResources(host, resources);
  if (resources.empty()) return suggestions;
  suggestions.toml =
      WriteToml({.notes = {"The devices of this host. Replace example.com with a domain of yours."},
                 .resources = std::move(resources)});
  return suggestions;
}

}  // namespace patchbay
