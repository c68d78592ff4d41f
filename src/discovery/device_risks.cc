#include "discovery/device_risks.h"

#include <algorithm>
#include <vector>

#include "base/format.h"
#include "discovery/named_devices.h"
#include "model/glob.h"

namespace patchbay {
namespace {

constexpr std::string_view kIsConsole = "it is the console of this machine";
constexpr std::string_view kIsTypedOn = "a container sees everything that is typed on it";
constexpr std::string_view kChanges = "a container can change this machine with it";

/// Devices of subsystems that are dangerous, all or those with one of these attributes or
/// properties. Subsystems, names, attributes and values are patterns with braces.
struct Danger {
  std::string_view subsystems, names, why;
  std::string_view attributes = "", value = "*";
};
/// The first one that applies has the reason, "" if the device is harmless.
constexpr Danger kDangers[] = {
    {"tty", "ttyS[0-9]*", "the kernel found no port there", "type", "0"},
    {"tty", "{console,tty[0-9]*}", kIsConsole},
    {"tty", "*", kIsConsole, "console", "Y"},
    {"graphics", "fb0", kIsConsole},
    {"vc", "*", kIsConsole},
    {"drm", "card*", kIsConsole, "{boot_vga,graphics/fb0/name}", "[!0]*"},
    {"hidraw", "*", kIsTypedOn, "bInterfaceProtocol", "{1,01}"},
    {"input", "*", kIsTypedOn, "{ID_INPUT_KEYBOARD,ID_INPUT_MOUSE,ID_INPUT_TOUCHPAD}"},
    {"input", "*", "", "ID_INPUT"},
    {"input", "*", kIsTypedOn},
    {"misc", "{uhid,uinput}", "a container can type on this machine with it"},
    {"block", "{[!s]*,s[!r]*}", kErases},
    {"scsi_generic", "*", kErases, "type", "[!5]*"},
    {"{bsg,mtd,nvme,nvme-generic}", "*", kErases},
    {"{misc,watchdog}", "watchdog*", "a container can restart this machine with it"},
    {"ipmi", "*", "a container can switch off this machine with it"},
    {"mem", "{kmem,mem,port}", "a container can read and change all of it"},
    {"mem", "kmsg", "it is the log of the kernel"},
    {"misc", "{autofs,btrfs-control,device-mapper,loop-control,nvram,snapshot}", kChanges},
    {"{mei,mmc_rpmb,msr}", "*", kChanges},
    {"i2c-dev", "*", "the memory modules and sensors of this machine are on it", "class",
     "0x0c05*"},
    {"{infiniband*,net,pci}", "*", "pods may have its virtual functions, which it controls",
     "sriov_numvfs", "[1-9]*"},
    {"usb", "*", "it is a hub, and the devices behind it are not parts of it", "bDeviceClass",
     "09"},
};

std::vector<NamePattern> Compiled(std::string_view pattern) {
  return pattern.empty() ? std::vector<NamePattern>() : CompileAlternatives(pattern).value();
}

/// Returns why a container should not get a node, as the table has it, or "".
std::string_view DangerOf(const DeviceAncestry& part, const Sysfs& sysfs) {
  for (const Danger& danger : kDangers) {
    if (!MatchesAny(Compiled(danger.subsystems), part.self().subsystem)) continue;
    if (!MatchesAny(Compiled(danger.names), part.self().name)) continue;
    const auto attributes = Compiled(danger.attributes), value = Compiled(danger.value);
    const auto has = [&](const auto& one) { return HasAttribute(part, one.text(), value, sysfs); };
    if (attributes.empty() || std::ranges::any_of(attributes, has)) return danger.why;
  }
  return "";
}

/// Returns the device whose other parts a container reaches with a node as well, such as the USB
/// device of a raw node, or the card of RDMA, which bypasses the network of the host; null for most
/// nodes.
const SysfsDevice* ReachedFrom(const DeviceAncestry& part) {
  static const auto raw = Compiled("{bsg,hidraw,infiniband*,nvme,nvme-generic,scsi_generic,usb}");
  const std::string& subsystem = part.self().subsystem;
  if (!MatchesAny(raw, subsystem)) return nullptr;
  if (subsystem == "nvme") return &part.self();
  const bool is_usb = subsystem == "usb" || subsystem == "hidraw";
  if (const SysfsDevice* usb = part.UsbDevice(); is_usb && usb != nullptr) return usb;
  return part.devices.size() > 1 ? &part.devices[1].get() : nullptr;
}

}  // namespace

std::string DeviceRisks::OwnRisk(const DeviceAncestry& part) {
  std::string risk = part.self().subsystem == "net" ? std::string(networks_.RiskOf(part.self()))
                                                    : disks_.RiskOf(part.self());
  return risk.empty() ? std::string(DangerOf(part, sysfs_)) : risk;
}

std::string DeviceRisks::Of(const DeviceAncestry& part) {
  const SysfsDevice& self = part.self();
  std::string own = OwnRisk(part), reached;
  // That it reaches the disk of the host is a better reason.
  if (!own.empty() && own != kErases) return own;
  const SysfsDevice* whole = ReachedFrom(part);
  const auto above = ancestries_.Of(whole == nullptr ? self.path : whole->path);
  if (whole != nullptr && above) {
    for (const DeviceAncestry& other : PartsOf(*above, ancestries_, sysfs_)) {
      const std::string why = other.self().path == self.path ? "" : OwnRisk(other);
      if (why.empty() || (why == kErases && !reached.empty())) continue;
      const std::string& name = other.self().node.empty() ? other.self().name : other.self().node;
      reached = Format("{} is a part of it, and {}", name, why);
      if (why != kErases) break;
    }
  }
  return reached.empty() ? own : reached;
}

}  // namespace patchbay
