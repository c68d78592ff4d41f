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
constexpr KindTraits kModem{
    .is_whole = true,
    .driver = "{*_wwan*,cdc_mbim,cdc_wdm,huawei_cdc_ncm,iosm,mtk_t7xx,option*,qcserial,sierra}",
    .note = "Its network interface stays on the host: a pod needs hostNetwork: true for it."};
constexpr KindTraits kRdma{
    .also = "/dev/infiniband/rdma_cm",
    .note = "The resource nic can have the same card, so two pods can get it."};
constexpr KindTraits kNic{.attribute = "type", .value = "1", .note = kHostNetwork};
constexpr KindTraits kCan{.attribute = "type", .value = "280", .note = kHostNetwork};
constexpr KindTraits kVfio{.driver = "{*_vfio_pci,vfio-pci}", .also = "/dev/vfio/vfio"};

/// The first kind that recognizes a device applies. Containers do not use those without a resource.
constexpr DeviceKind kKinds[] = {
    {"modem", "cellular modem", "{tty,usbmisc,wwan}", "{ttyUSB,cdc-wdm,wwan}[0-9]*", kModem},
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
    {"cec",
     "HDMI-CEC adapter",
     "cec",
     "cec[0-9]*",
     {.note = "The resource serial can have the same adapter, so two pods can get it."}},
    {"fpga", "FPGA", "{fpga,qdma,xdma,xrt_user}", "*", kWhole},
    {"fpga", "FPGA", "platform", "dfl-{fme,port}.[0-9]*", kWhole},
    {"rdma", "RDMA device", "infiniband_verbs", "uverbs[0-9]*", kRdma},
    {"nic", "network interface", "net", "*", kNic},
    {"can", "CAN interface", "net", "*", kCan},
    {"vfio", "PCI function for virtual machines", "pci", "*", kVfio},
    {"tpm", "TPM", "tpmrm", "tpmrm[0-9]*"},
    {"gpio", "GPIO controller", "gpio", "gpiochip[0-9]*"},
    {"i2c", "I2C bus", "i2c-dev", "i2c-[0-9]*"},
    {"spi", "SPI device", "spidev", "spidev[0-9]*"},
    {"printer", "USB printer", "usbmisc", "lp[0-9]*"},
    {"optical",
     "optical drive",
     "block",
     "sr[0-9]*",
     {.note = "Some programs also need its sg node."}},
    {"hid", "HID device", "hidraw", "hidraw[0-9]*"},
    {"", "button or jack of the machine", "input", "*", kButton},
    {"input", "input device", "input", "{event,js,mouse}[0-9]*", kWhole},
    {"disk", "disk", "block",
     "{hd[a-z],mmcblk[0-9],mmcblk[0-9][0-9],nvme[0-9]*,sd[a-z]*,vd[a-z]*,xvd[a-z]*}"},
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

bool IsVirtualMedium(const DeviceKind& kind, const DeviceAncestry& device, const Sysfs& sysfs) {
  static const auto kinds = Compiled("{disk,hid,input,nic}");
  const bool is_of_kind = MatchesAny(kinds, std::string(kind.resource));
  if (kind.resource != "optical" && (!is_of_kind || device.UsbDevice() == nullptr)) return false;
  static const auto makers = Compiled("{*[Vv]irtual*,*VIRTUAL*,AMI*,American Megatrends*,iDRAC*}");
  return std::ranges::any_of(
      std::array{"vendor", "model", "manufacturer", "product"},
      [&](const char* name) { return HasAttribute(device, name, makers, sysfs); });
}

std::span<const NodeKind> NodeKinds() { return kNodes; }

}  // namespace patchbay
