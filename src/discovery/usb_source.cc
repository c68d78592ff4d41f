#include "discovery/conditions.h"
#include "discovery/sources.h"
#include "discovery/sysfs_device.h"

namespace patchbay {

void ScanSource(const UsbPattern& usb, Scan& scan) {
  const auto is_usb_device = [](const SysfsDevice& d) { return d.devtype == "usb_device"; };
  for (const Lineage& device : scan.SysfsDevices([](auto name) { return name == "usb"; })) {
    if (!is_usb_device(device.self())) continue;
    if (auto unmet = Unmet(usb, device, scan.sysfs())) {
      scan.Drop(device.self().path, std::move(*unmet));
      continue;
    }
    // What is plugged into a hub is not the hub.
    AddSysfsDevice(device, scan.lineages().UsbIdentity(device.self()), is_usb_device, {}, scan);
  }
}

}  // namespace patchbay
