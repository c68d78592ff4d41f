#include "suggest/kinds.h"

#include <algorithm>
#include <array>
#include <vector>

#include "model/glob.h"

namespace patchbay {
namespace {

constexpr std::string_view kUarts = "tty{S,AMA,mxc,PS,THS,SC,LP,O,MXUPCI}[0-9]*";

/// The first kind that recognizes a device applies.
constexpr Kind kKinds[] = {
    {"serial", "USB serial adapter", "tty", "tty{USB,ACM}[0-9]*"},
    {"uart",
     "serial port",
     "tty",
     kUarts,
     {.attribute = "console", .value = "Y", .danger = "it is the console of this machine"}},
    // The kernel has ports ttyS without hardware, of the type 0.
    {"uart", "serial port", "tty", kUarts, {.attribute = "type", .value = "[1-9]*"}},
    {"video-codec",
     "video codec",
     "video4linux",
     "video[0-9]*",
     {.is_whole = true,
      .driver = "{bcm2835-codec*,cedrus*,coda*,hantro*,imx-vpu*,meson-*,mtk-vcodec*,rkvdec*,"
                "rockchip-rga,s5p-mfc,venus*,wave5*}"}},
    {"camera", "camera or other video source", "video4linux", "video[0-9]*", {.is_whole = true}},
    {"sound", "sound card", "sound", "{controlC,hwC,midiC,pcmC}[0-9]*", {.is_whole = true}},
    {"npu",
     "NPU",
     "{accel,drm}",
     "{accel,card,renderD}[0-9]*",
     {.is_whole = true, .driver = "{amdxdna,intel_vpu,ivpu,qaic,RKNPU,rknpu,rocket}"}},
    {"gpu",
     "GPU",
     "drm",
     "{card,renderD}[0-9]*",
     {.is_whole = true,
      .attribute = "boot_vga",
      .value = "1",
      .danger = "the console of this machine uses it"}},
    {"gpu", "GPU", "drm", "{card,renderD}[0-9]*", {.is_whole = true}},
    {"npu", "accelerator", "accel", "accel[0-9]*"},
    {"coral", "Coral accelerator", "apex", "apex_[0-9]*"},
    {"coral", "Coral accelerator", "usb", "*", {.ids = "{18d1:9302,1a6e:089a}"}},
    {"sdr",
     "software-defined radio",
     "usb",
     "*",
     {.ids = "{0403:601f,0456:b673,0bda:2832,0bda:2838,1d50:604b,1d50:6089,1d50:60a1,1d50:6108,"
             "2500:0002,2500:0020,2500:0022,2cf0:5246,2cf0:5250}"}},
    {"dvb", "DVB adapter", "dvb", "*", {.is_whole = true}},
    {"cec", "HDMI-CEC adapter", "cec", "cec[0-9]*"},
    {"rdma", "RDMA device", "infiniband_verbs", "uverbs[0-9]*"},
    {"tpm", "TPM", "tpmrm", "tpmrm[0-9]*"},
    {"gpio", "GPIO controller", "gpio", "gpiochip[0-9]*"},
    {"i2c", "I2C bus", "i2c-dev", "i2c-[0-9]*"},
    {"spi", "SPI device", "spidev", "spidev[0-9]*"},
    {"printer", "USB printer", "usbmisc", "lp[0-9]*"},
    {"modem", "control port of a modem", "{usbmisc,wwan}", "{cdc-wdm,wwan}[0-9]*"},
    {"optical",
     "optical drive",
     "{block,scsi_generic}",
     "{sg,sr}[0-9]*",
     {.is_whole = true, .attribute = "type", .value = "5"}},
    {"hid", "HID device", "hidraw", "hidraw[0-9]*"},
    {"input",
     "input device",
     "input",
     "event[0-9]*",
     {.danger = "a container sees everything that is typed on it"}},
    {"can", "CAN interface", "net", "*", {.attribute = "type", .value = "280"}},
    {"vfio", "PCI function for virtual machines", "pci", "*", {.driver = "{*_vfio_pci,vfio-pci}"}},
    {"disk",
     "disk",
     "block",
     "{hd,mmcblk,nvme,sd,vd,xvd}*",
     {.danger = "a container can erase it"}},
};

constexpr SharedNodes kSharedNodes[] = {
    {"kvm", "virtual machines with hardware acceleration", "/dev/kvm"},
    {"fuse", "file systems in user space", "/dev/fuse"},
    {"tun", "tunnels and VPNs", "/dev/net/tun"},
    {"vhost", "fast networks of virtual machines", "/dev/vhost-{net,vsock}"},
    {"vchiq", "the video core of a Raspberry Pi", "/dev/{vchiq,vcsm-cma}"},
    {"rockchip-media", "the video codecs of Rockchip", "/dev/{mpp_service,rga,dma_heap/*}"},
};

/// The patterns of a kind, compiled once.
struct CompiledKind {
  const Kind* kind;
  std::vector<NamePattern> subsystem, names, value, ids, driver;
};

std::vector<NamePattern> Compiled(std::string_view pattern) {
  return pattern.empty() ? std::vector<NamePattern>() : CompileAlternatives(pattern).value();
}

const std::vector<CompiledKind>& CompiledKinds() {
  static const auto kinds = [] {
    std::vector<CompiledKind> compiled;
    for (const Kind& kind : kKinds) {
      compiled.push_back({&kind, Compiled(kind.subsystem), Compiled(kind.names),
                          Compiled(kind.traits.value), Compiled(kind.traits.ids),
                          Compiled(kind.traits.driver)});
    }
    return compiled;
  }();
  return kinds;
}

}  // namespace

const Kind* KindOf(const DeviceAncestry& device, DeviceAncestries& ancestries, const Sysfs& sysfs) {
  const SysfsDevice& self = device.self();
  const auto has_attribute = [&](const CompiledKind& one) {
    return std::ranges::any_of(device.devices, [&](const SysfsDevice& part) {
      const auto value = sysfs.Attribute(part.path, one.kind->traits.attribute);
      return value && MatchesAny(one.value, *value);
    });
  };
  const auto driver = std::ranges::find_if(
      device.devices, [](const SysfsDevice& part) { return !part.driver.empty(); });
  const auto found = std::ranges::find_if(CompiledKinds(), [&](const CompiledKind& one) {
    return MatchesAny(one.subsystem, self.subsystem) && MatchesAny(one.names, self.name) &&
           (one.ids.empty() ||
            (IsUsbDevice(self) && MatchesAny(one.ids, ancestries.NumbersOf(self)))) &&
           (one.driver.empty() ||
            (driver != device.devices.end() && MatchesAny(one.driver, driver->get().driver))) &&
           (one.value.empty() || has_attribute(one));
  });
  return found == CompiledKinds().end() ? nullptr : found->kind;
}

std::span<const SharedNodes> SharedNodeKinds() { return kSharedNodes; }

}  // namespace patchbay
