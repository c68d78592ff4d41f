#include "discovery/vfio.h"

#include <algorithm>
#include <map>

#include "base/ascii.h"
#include "base/format.h"

namespace patchbay {
namespace {

/// Returns the directory of the members of the IOMMU group of a node of VFIO; empty for any other
/// node, and for a group without an IOMMU.
std::string MembersOf(const std::string& real_path) {
  constexpr std::string_view kGroups = "/dev/vfio/", kFunctions = "/dev/vfio/devices/";
  if (real_path.starts_with(kFunctions)) {
    return Format("/sys/class/vfio-dev/{}/device/iommu_group/devices",
                  std::string_view(real_path).substr(kFunctions.size()));
  }
  if (!real_path.starts_with(kGroups)) return "";
  const auto group = std::string_view(real_path).substr(kGroups.size());
  if (group.empty() || !std::ranges::all_of(group, IsDigit)) return "";
  return Format("/sys/kernel/iommu_groups/{}/devices", group);
}

/// Returns whether a device with this driver leaves its group to VFIO: drivers of VFIO, and those
/// that set driver_managed_dma in Linux. A bridge (pcieport) belongs to every group behind it.
bool IsHarmless(const SysfsDevice& member, const Sysfs& sysfs) {
  return member.driver.empty() || member.driver == "pci-stub" || member.driver == "pcieport" ||
         IsOnVfio(member, sysfs);
}

/// Returns the syspaths of the members of a group, ordered by address.
std::vector<std::string> SyspathsIn(const std::string& members, const HostRoot& host) {
  std::vector<std::string> paths;
  auto entries = host.List(members, [](const std::string&) { return true; });
  if (!entries) return paths;
  std::ranges::sort(*entries, {}, &HostEntry::name);
  for (const HostEntry& entry : *entries) {
    auto path = host.Resolve(members + "/" + entry.name);
    if (path) paths.push_back(std::move(path->path));
  }
  return paths;
}

/// Returns why VFIO cannot open the group; empty if it can, or if its members cannot be read.
std::string ProblemWithGroup(const std::string& members, const ScanContext& scan) {
  for (const std::string& path : SyspathsIn(members, scan.host())) {
    const auto member = scan.sysfs().Read(path);
    if (!member || IsHarmless(*member, scan.sysfs())) continue;
    return Format(
        "its IOMMU group cannot be used with VFIO, because {} in the same group has the driver {}; "
        "bind that device to vfio-pci as well, for example with \"driverctl set-override {} "
        "vfio-pci\", or unbind it",
        member->name, member->driver, member->name);
  }
  return "";
}

}  // namespace

bool IsOnVfio(const SysfsDevice& function, const Sysfs& sysfs) {
  return function.driver.find("vfio") != std::string::npos ||
         (!function.driver.empty() && sysfs.host().Resolve(function.path + "/vfio-dev"));
}

std::vector<std::string> VfioFunctionsOf(const std::string& real_path, const HostRoot& host) {
  const std::string members = MembersOf(real_path);
  return members.empty() ? std::vector<std::string>() : SyspathsIn(members, host);
}

void FindBlockedGroups(ScanContext& scan, Discovery& discovery) {
  std::map<std::string, std::string> problems;  // by directory
  for (const Device& device : discovery.devices) {
    for (const DeviceNode& node : device.nodes) {
      const std::string members = MembersOf(node.real_path);
      if (members.empty()) continue;
      const auto [known, is_new] = problems.try_emplace(members);
      if (is_new) known->second = ProblemWithGroup(members, scan);
      if (!known->second.empty()) discovery.unusable.try_emplace(device.id, known->second);
    }
  }
}

}  // namespace patchbay
