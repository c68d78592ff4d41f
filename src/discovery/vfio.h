#pragma once

#include <optional>
#include <string>
#include <vector>

#include "discovery/discover.h"
#include "discovery/sysfs.h"

namespace patchbay {

/// Returns whether the driver of a PCI function is one of VFIO: the kernel (since 6.1) lists the
/// function as a device of VFIO, or its driver has the name of vfio-pci or of a variant of it, all
/// of which contain "vfio" (drivers/vfio/pci/* of Linux). Blocks.
bool IsOnVfio(const SysfsDevice& function, const Sysfs& sysfs);

/// Returns the syspaths of the functions that a node of VFIO is for, those of its IOMMU group; none
/// for any other node. Blocks.
std::vector<std::string> VfioFunctionsOf(const std::string& real_path, const HostRoot& host);

/// Sets `unusable` for devices with a node of a VFIO group that cannot be opened, because another
/// device of the IOMMU group has a driver of the host. Blocks.
void FindBlockedGroups(ScanContext& scan, Discovery& discovery);

}  // namespace patchbay
