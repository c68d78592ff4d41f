#include "discovery/conditions.h"
#include "discovery/sources.h"
#include "discovery/sysfs_device.h"

namespace patchbay {
namespace {

/// A function that vfio drives is reached through the node of its IOMMU group, which sysfs keeps
/// elsewhere.
std::vector<std::string> VfioGroup(const SysfsDevice& device, const Scan& scan) {
  if (device.driver != "vfio-pci") return {};
  const auto group = scan.sysfs().Attribute(device.path, "iommu_group");
  if (!group) return {};
  const auto node = scan.host().Resolve("/sys/class/vfio/" + *group);
  if (!node) return {};
  return {node->path};
}

}  // namespace

void ScanSource(const PciPattern& pci, Scan& scan) {
  const auto is_pci = [](const SysfsDevice& d) { return d.subsystem == "pci"; };
  for (const Lineage& device : scan.SysfsDevices([](auto name) { return name == "pci"; })) {
    if (auto unmet = Unmet(pci, device, scan.sysfs())) {
      scan.Drop(device.self().path, std::move(*unmet));
      continue;
    }
    // What lies behind a bridge is not the bridge.
    AddSysfsDevice(device, device.self().name, is_pci, VfioGroup(device.self(), scan), scan);
  }
}

}  // namespace patchbay
