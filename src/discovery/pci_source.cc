#include "discovery/conditions.h"
#include "discovery/sources.h"
#include "discovery/sysfs_device.h"
#include "discovery/vfio.h"

namespace patchbay {
namespace {

/// Returns the syspath of the VFIO group of a function on VFIO. Containers access such a function
/// through the node of its IOMMU group, which is elsewhere in sysfs. It gives nothing for a
/// function of the same group that has another driver, or none.
std::vector<std::string> VfioGroup(const SysfsDevice& device, const ScanContext& scan) {
  if (!IsOnVfio(device, scan.sysfs())) return {};
  const auto group = scan.sysfs().Attribute(device.path, "iommu_group");
  if (!group) return {};
  for (const std::string_view prefix : {"/sys/class/vfio/", "/sys/class/vfio/noiommu-"}) {
    if (const auto node = scan.host().Resolve(std::string(prefix) + *group)) return {node->path};
  }
  return {};
}

}  // namespace

void ScanSource(const PciPattern& pci, ScanContext& scan) {
  const auto is_named_pci = [](std::string_view subsystem) { return subsystem == "pci"; };
  const auto is_pci = [](const SysfsDevice& d) { return d.subsystem == "pci"; };
  for (const DeviceAncestry& device : scan.SysfsDevices(is_named_pci, is_pci)) {
    if (auto mismatch = FirstMismatch(pci, device, scan.sysfs())) {
      if (scan.report().is_kept()) {
        DropSysfsDevice(pci, device, device.self().name, std::move(mismatch->why), scan);
      }
      continue;
    }
    // Devices behind a bridge are not part of the bridge.
    AddSysfsDevice(device, device.self().name, is_pci, VfioGroup(device.self(), scan), scan);
  }
  ReportUnmatchedDevice(pci, scan);
}

}  // namespace patchbay
