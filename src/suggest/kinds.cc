#include "suggest/kinds.h"

#include <algorithm>
#include <array>
#include <vector>

#include "model/glob.h"

namespace patchbay {
namespace {

constexpr KindTraits kWhole{.is_whole = true};
// The kernel has serial ports without hardware, of the type 0.
constexpr KindTraits kPort{.attribute = "type", .value = "[1-9]*", .is_attribute_compared = true};
constexpr KindTraits kButton{.attribute = "phys", .value = "{ALSA,LNX*,PNP0C*,isa0061/*}"};
constexpr KindTraits kNpu{.is_whole = true,
                          .driver = "{amdxdna,intel_vpu,ivpu,qaic,RKNPU,rknpu,rocket}"};
constexpr KindTraits kCoralUsb{.ids = "{18d1:9302,1a6e:089a}", .changes_id = true};
constexpr KindTraits kCodec{
    .is_whole = true,
    .driver =
        "{bcm2835-codec*,cedrus*,coda*,hantro*,imx-vpu*,meson-*,mtk-vcodec*,rkvdec*,"
        "rockchip-rga,rpivid,s5p-mfc,venus*,wave5*}"};
constexpr KindTraits kIsp{.is_whole = true, .driver = "{bcm2835-isp,pispbe,rkisp*}"};
constexpr KindTraits kRadio{
    .ids =
        "{0403:601f,0456:b673,0bda:2832,0bda:2838,1d50:604b,1d50:6089,1d50:60a1,1d50:6108,"
        "2500:0002,2500:0020,2500:0022,2cf0:5246,2cf0:5250}"};
constexpr KindTraits kVfio{.driver = "{*_vfio_pci,vfio-pci}", .also = "/dev/vfio/vfio"};

/// The first kind that recognizes a device applies. Containers do not use those without a resource.
constexpr DeviceKind kKinds[] = {
    {"serial", "USB serial adapter", "tty", "tty{USB,ACM}[0-9]*"},
    {"uart", "serial port", "tty", "tty{S,AMA,mxc,PS,THS,SC,LP,O,MXUPCI}[0-9]*", kPort},
    {"uart", "serial port", "tty", "ttyMI[0-9]*", {.is_numbered = true}},
    {"video-codec", "video codec", "video4linux", "video[0-9]*", kCodec},
    {"isp", "image processor", "video4linux", "*", kIsp},
    {"camera", "camera or other video source", "video4linux", "*", kWhole},
    {"sound", "sound card", "sound", "*C[0-9]*", kWhole},
    {"npu", "NPU", "{accel,drm}", "{accel,card,renderD}[0-9]*", kNpu},
    {"npu", "accelerator", "accel", "accel[0-9]*"},
    {"fpga", "FPGA", "{drm,xrt_user}", "*", {.is_whole = true, .driver = "xocl*"}},
    {"display", "display", "drm", "*", {.is_whole = true, .driver = "rockchip-drm"}},
    {"gpu", "GPU", "drm", "{card,renderD}[0-9]*", kWhole},
    {"gpu", "GPU", "misc", "mali[0-9]*"},
    {"coral", "Coral accelerator", "apex", "apex_[0-9]*"},
    {"coral", "Coral accelerator", "usb", "*", kCoralUsb},
    {"sdr", "software-defined radio", "usb", "*", kRadio},
    {"dvb", "DVB adapter", "dvb", "*", kWhole},
    {"cec", "HDMI-CEC adapter", "cec", "cec[0-9]*", {.shares = "serial"}},
    {"fpga", "FPGA", "{fpga,qdma,xdma,xrt_user}", "*", kWhole},
    {"fpga", "FPGA", "platform", "dfl-{fme,port}.[0-9]*", kWhole},
    {"rdma",
     "RDMA device",
     "infiniband_verbs",
     "uverbs[0-9]*",
     {.also = "/dev/infiniband/rdma_cm", .shares = "nic"}},
    {"nic", "network interface", "net", "*", {.attribute = "type", .value = "1"}},
    {"can", "CAN interface", "net", "*", {.attribute = "type", .value = "280"}},
    {"vfio", "PCI function for virtual machines", "pci", "*", kVfio},
    {"tpm", "TPM", "tpmrm", "tpmrm[0-9]*"},
    {"gpio", "GPIO controller", "gpio", "gpiochip[0-9]*"},
    {"i2c", "I2C bus", "i2c-dev", "i2c-[0-9]*"},
    {"spi", "SPI device", "spidev", "spidev[0-9]*"},
    {"printer", "USB printer", "usbmisc", "lp[0-9]*"},
    {"modem", "control port of a modem", "{usbmisc,wwan}", "{cdc-wdm,wwan}[0-9]*"},
    {"optical", "optical drive", "block", "sr[0-9]*"},
    {"hid", "HID device", "hidraw", "hidraw[0-9]*"},
    {"", "button or jack of the machine", "input", "*", kButton},
    {"input", "input device", "input", "{event,js,mouse}[0-9]*", kWhole},
    {"disk", "disk", "block",
     "{hd[a-z],mmcblk[0-9],mmcblk[0-9][0-9],nvme[0-9]*,sd[a-z]*,vd[a-z]*,xvd[a-z]*}"},
};

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
    {"{vc,vtconsole}", "*", kIsConsole},
    {"drm", "card*", kIsConsole, "boot_vga", "1"},
    {"drm", "card*", kIsConsole, "graphics/fb0/name"},
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
    {"usb", "*", "it is a hub, and the devices behind it are not parts of it", "bDeviceClass",
     "09"},
};

const NodeKind kNodes[] = {
    {"kvm", "For virtual machines with hardware acceleration.", "/dev/kvm"},
    {"fuse", "For file systems in user space.", "/dev/fuse"},
    {"tun", "For tunnels and VPNs.", "/dev/net/tun"},
    {"vhost", "For fast networks of virtual machines.", "/dev/vhost-{net,vsock}"},
    {"vchiq", "For the video core of a Raspberry Pi.", "/dev/{vchiq,vcsm-cma}"},
    {"rockchip-media", "For the video codecs of Rockchip.", "/dev/{mpp_service,rga,dma_heap/*}"},
    {"mem", "For the memory and ports of this machine.", "/dev/{kmem,mem,port}",
     "a container can read and change all of it"},
    {"nvidia",
     "NVIDIA GPU",
     "/dev/nvidia[0-9]*",
     "",
     R"(/dev/nvidia(?P<gpu>\d+))",
     "gpu",
     {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"},
     {"NVIDIA_VISIBLE_DEVICES", "{gpu}"}},
    {"fpga", "FPGA", "/dev/xdma[0-9]*", "", R"(/dev/xdma(?P<xdma>\d+)_.*)", "xdma"},
    {"fpga", "FPGA", "/dev/dfl-fme.[0-9]*", "", R"(/dev/dfl-fme\.(?P<fme>\d+))", "fme"},
    {"fpga", "FPGA", "/dev/dfl-port.[0-9]*", "", R"(/dev/dfl-port\.(?P<port>\d+))", "port"},
    {"fpga", "FPGA", "/dev/fpga[0-9]*", "", R"(/dev/fpga(?P<fpga>\d+))", "fpga"},
};

/// The patterns of a kind, compiled once.
struct CompiledKind {
  const DeviceKind* kind;
  std::vector<NamePattern> subsystem, names, value, ids, driver;
};

std::vector<NamePattern> Compiled(std::string_view pattern) {
  return pattern.empty() ? std::vector<NamePattern>() : CompileAlternatives(pattern).value();
}

const std::vector<CompiledKind>& CompiledKinds() {
  static const auto kinds = [] {
    std::vector<CompiledKind> compiled;
    for (const DeviceKind& kind : kKinds) {
      compiled.push_back({&kind, Compiled(kind.subsystem), Compiled(kind.names),
                          Compiled(kind.traits.value), Compiled(kind.traits.ids),
                          Compiled(kind.traits.driver)});
    }
    return compiled;
  }();
  return kinds;
}

/// Returns whether the device has an attribute or property with such a value, or a parent up to its
/// USB device or PCI function: those of the hub or bridge above are not its own.
bool HasAttribute(const DeviceAncestry& device, const std::string& name,
                  const std::vector<NamePattern>& value, const Sysfs& sysfs) {
  for (const SysfsDevice& one : device.devices) {
    const auto property = one.properties.find(name);
    if (property != one.properties.end() && MatchesAny(value, property->second)) return true;
    const auto found = sysfs.Attribute(one.path, name);
    if (found && MatchesAny(value, *found)) return true;
    if (IsUsbDevice(one) || one.subsystem == "pci") return false;
  }
  return false;
}

}  // namespace

bool IsSubsystemOfKind(const std::string& subsystem) {
  return std::ranges::any_of(CompiledKinds(), [&](const CompiledKind& one) {
    return MatchesAny(one.subsystem, subsystem);
  });
}

const DeviceKind* KindOf(const DeviceAncestry& device, DeviceAncestries& ancestries,
                         const Sysfs& sysfs) {
  const SysfsDevice& self = device.self();
  const auto driver = std::ranges::find_if(
      device.devices, [](const SysfsDevice& part) { return !part.driver.empty(); });
  const auto found = std::ranges::find_if(CompiledKinds(), [&](const CompiledKind& one) {
    return MatchesAny(one.subsystem, self.subsystem) && MatchesAny(one.names, self.name) &&
           (one.ids.empty() ||
            (IsUsbDevice(self) && MatchesAny(one.ids, ancestries.NumbersOf(self)))) &&
           (one.driver.empty() ||
            (driver != device.devices.end() && MatchesAny(one.driver, driver->get().driver))) &&
           (one.value.empty() ||
            HasAttribute(device, std::string(one.kind->traits.attribute), one.value, sysfs));
  });
  if (found == CompiledKinds().end() || found->kind->resource.empty()) return nullptr;
  return found->kind;
}

std::string_view DangerOf(const DeviceAncestry& part, const Sysfs& sysfs) {
  for (const Danger& danger : kDangers) {
    if (!MatchesAny(Compiled(danger.subsystems), part.self().subsystem) ||
        !MatchesAny(Compiled(danger.names), part.self().name)) {
      continue;
    }
    const auto attributes = Compiled(danger.attributes);
    if (attributes.empty() || std::ranges::any_of(attributes, [&](const NamePattern& one) {
          return HasAttribute(part, one.text(), Compiled(danger.value), sysfs);
        })) {
      return danger.why;
    }
  }
  return "";
}

const SysfsDevice* ReachedFrom(const DeviceAncestry& part) {
  static const auto raw = Compiled("{bsg,hidraw,nvme,nvme-generic,scsi_generic,usb}");
  const std::string& subsystem = part.self().subsystem;
  if (!MatchesAny(raw, subsystem)) return nullptr;
  if (subsystem == "nvme") return &part.self();
  const bool is_usb = subsystem == "usb" || subsystem == "hidraw";
  if (const SysfsDevice* usb = part.UsbDevice(); is_usb && usb != nullptr) return usb;
  return part.devices.size() > 1 ? &part.devices[1].get() : nullptr;
}

bool IsVirtualMedium(const DeviceKind& kind, const DeviceAncestry& device, const Sysfs& sysfs) {
  static const auto kinds = Compiled("{disk,hid,input,nic}");
  const bool is_usb = device.UsbDevice() != nullptr;
  const bool can_be = is_usb && MatchesAny(kinds, std::string(kind.resource));
  if (kind.resource != "optical" && !can_be) return false;
  static const auto makers = Compiled("{*[Vv]irtual*,*VIRTUAL*,AMI*,American Megatrends*,iDRAC*}");
  return std::ranges::any_of(
      std::array{"vendor", "model", "manufacturer", "product"},
      [&](const char* name) { return HasAttribute(device, name, makers, sysfs); });
}

std::span<const NodeKind> NodeKinds() { return kNodes; }

}  // namespace patchbay
