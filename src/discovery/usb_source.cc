#include "discovery/conditions.h"
#include "discovery/sources.h"
#include "discovery/sysfs_device.h"

namespace patchbay {

void ScanSource(const UsbPattern& usb, ScanContext& scan) {
  const auto is_usb = [](std::string_view subsystem) { return subsystem == "usb"; };
  for (const DeviceAncestry& device : scan.SysfsDevices(is_usb, IsUsbDevice)) {
    const auto identity = [&] { return scan.ancestries().UsbIdentity(device.self()); };
    if (auto mismatch = FirstMismatch(usb, device, scan.sysfs())) {
      if (scan.report().is_kept()) {
        DropSysfsDevice(usb, device, identity(), std::move(mismatch->why), scan);
      }
      continue;
    }
    // Devices on the ports of a hub are not part of the hub.
    AddSysfsDevice(device, identity(), IsUsbDevice, {}, scan);
  }
  ReportUnmatchedDevice(usb, scan);
}

}  // namespace patchbay
