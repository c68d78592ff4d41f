#include "discovery/conditions.h"
#include "discovery/sources.h"
#include "discovery/sysfs_device.h"

namespace patchbay {

void ScanSource(const UsbPattern& usb, Scan& scan) {
  const auto is_usb = [](std::string_view subsystem) { return subsystem == "usb"; };
  const auto is_usb_device = [](const SysfsDevice& d) { return d.devtype == "usb_device"; };
  for (const Lineage& device : scan.SysfsDevices(is_usb, is_usb_device)) {
    const auto identity = [&] { return scan.lineages().UsbIdentity(device.self()); };
    if (auto unmet = Unmet(usb, device, scan.sysfs())) {
      if (scan.account().is_kept()) {
        DropSysfsDevice(usb, device, identity(), std::move(*unmet), scan);
      }
      continue;
    }
    // What is plugged into a hub is not the hub.
    AddSysfsDevice(device, identity(), is_usb_device, {}, scan);
  }
}

}  // namespace patchbay
