#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "specs.h"
#include "support/fake_sysfs.h"

namespace patchbay {
namespace {

using test::FakeDevice;
using test::Ids;
using test::PathMatch;
using test::Paths;
using test::Rejected;
using test::Resource;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Pair;
using testing::UnorderedElementsAre;

NamePattern Name(std::string_view text) { return NamePattern::Compile(text).value(); }

MatchSpec Usb(std::optional<std::uint16_t> vendor, std::optional<std::uint16_t> product) {
  MatchSpec match;
  match.source = UsbPattern{{{vendor, product}}};
  return match;
}

MatchSpec Pci(std::optional<std::uint16_t> vendor, std::optional<std::uint16_t> device) {
  MatchSpec match;
  match.source = PciPattern{{{vendor, device}}};
  return match;
}

MatchSpec Udev(UdevPattern udev) {
  MatchSpec match;
  match.source = std::move(udev);
  return match;
}

UdevPattern Subsystem(std::string_view name) { return {{Name(name)}, {}, {}, {}}; }

/// A host with two serial adapters behind a hub, a graphics card, a network card with a virtual
/// function for vfio behind a bridge, and two CAN interfaces.
class SysfsSourcesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
    sysfs_.Device(kRoot, {});
    sysfs_.Device(kHostController, {.subsystem = "pci",
                                    .driver = "xhci_hcd",
                                    .attributes = {{"vendor", "0x8086"}, {"device", "0xa36d"}}});
    UsbDevice(kHub, "1-1", "2109", "3431", "", "189:1", "bus/usb/001/002");
    Adapter("1-1.1", "A9007YHT", 0);
    Adapter("1-1.2", "", 1);
  }

  void UsbDevice(const std::string& path, const std::string&, const std::string& vendor,
                 const std::string& product, const std::string& serial, const std::string& number,
                 const std::string& node) {
    FakeDevice device{.subsystem = "usb",
                      .driver = "usb",
                      .devtype = "usb_device",
                      .number = number,
                      .node = node,
                      .attributes = {{"idVendor", vendor}, {"idProduct", product}}};
    if (!serial.empty()) device.attributes.emplace_back("serial", serial);
    sysfs_.Device(path, device);
  }

  /// Creates an FTDI adapter: a USB device with one interface and a tty.
  void Adapter(const std::string& port, const std::string& serial, int index) {
    const std::string usb = kHub + "/" + port, interface = usb + "/" + port + ":1.0";
    const std::string name = "ttyUSB" + std::to_string(index);
    UsbDevice(usb, port, "0403", "6001", serial, "189:" + std::to_string(10 + index),
              "bus/usb/001/00" + std::to_string(4 + index));
    sysfs_.Device(interface, {.subsystem = "usb",
                              .driver = "ftdi_sio",
                              .devtype = "usb_interface",
                              .attributes = {{"bInterfaceNumber", "00"}}});
    sysfs_.Device(interface + "/" + name, {.subsystem = "usb-serial", .driver = "ftdi_sio"});
    sysfs_.Device(interface + "/" + name + "/tty/" + name,
                  {.subsystem = "tty",
                   .number = "188:" + std::to_string(index),
                   .udev = {{"ID_MODEL", "FT232R"}, {"ID_SERIAL_SHORT", serial}}});
  }

  /// Creates a CAN adapter with one interface and several channels.
  void CanAdapter() {
    UsbDevice(kCan, "1-1.4", "1d50", "606f", "CAND", "189:20", "bus/usb/001/020");
    sysfs_.Device(kCan + "/1-1.4:1.0", {.subsystem = "usb",
                                        .driver = "gs_usb",
                                        .devtype = "usb_interface",
                                        .attributes = {{"bInterfaceNumber", "00"}}});
  }
  void CanChannel(const std::string& name, const FakeDevice::Pairs& attributes) {
    sysfs_.Device(kCan + "/1-1.4:1.0/net/" + name,
                  {.subsystem = "net", .attributes = attributes, .uevent = {{"INTERFACE", name}}});
  }

  void Graphics() {
    sysfs_.Device(kCard, {.subsystem = "pci",
                          .driver = "amdgpu",
                          .attributes = {{"vendor", "0x1002"}, {"device", "0x73bf"}}});
    sysfs_.Device(kCard + "/drm/card0",
                  {.subsystem = "drm", .number = "226:0", .node = "dri/card0"});
    sysfs_.Device(kCard + "/drm/renderD128",
                  {.subsystem = "drm", .number = "226:128", .node = "dri/renderD128"});
    sysfs_.Device(kCard + "/i2c-4/i2c-dev/i2c-4", {.subsystem = "i2c-dev", .number = "89:4"});
  }

  Discovery Find(MatchSpec match) const {
    return Discover(Resource({std::move(match)}), HostRoot(tree_.path()), "");
  }

  static NamedValues ValuesOf(const Device& device) {
    return device.nodes.empty() ? device.values : device.nodes.front().values;
  }

  static inline const std::string kRoot = "/sys/devices/pci0000:00";
  static inline const std::string kHostController = kRoot + "/0000:00:14.0";
  static inline const std::string kHub = kHostController + "/usb1/1-1";
  static inline const std::string kCan = kHub + "/1-1.4";
  static inline const std::string kCard = kRoot + "/0000:00:01.0/0000:03:00.0";
  test::TempTree tree_;
  test::FakeSysfs sysfs_{tree_};
};

TEST_F(SysfsSourcesTest, UsbDeviceContainsAllItsNodes) {
  const Discovery found = Find(Usb(0x0403, 0x6001));
  EXPECT_THAT(Ids(found), ElementsAre("0403:6001-A9007YHT", "0403:6001@1-1.2"));
  EXPECT_THAT(Paths(found), UnorderedElementsAre("/dev/bus/usb/001/004", "/dev/bus/usb/001/005",
                                                 "/dev/ttyUSB0", "/dev/ttyUSB1"));
  EXPECT_THAT(found.devices[0].values, Contains(Pair("usb_serial", "A9007YHT")));
  EXPECT_THAT(found.devices[0].values, Contains(Pair("usb_port", "1-1.1")));
  EXPECT_TRUE(found.complete);
}

TEST_F(SysfsSourcesTest, HubDoesNotContainItsDevices) {
  EXPECT_THAT(Paths(Find(Usb(0x2109, std::nullopt))), ElementsAre("/dev/bus/usb/001/002"));
}

TEST_F(SysfsSourcesTest, ConditionsFilterTheNodes) {
  MatchSpec match = Usb(0x0403, std::nullopt);
  match.conditions.udev = Subsystem("tty");
  const Discovery found = Find(match);
  EXPECT_THAT(Paths(found), ElementsAre("/dev/ttyUSB0", "/dev/ttyUSB1"));
  EXPECT_THAT(found.devices[0].nodes[0].values, Contains(Pair("ID_MODEL", "FT232R")));
  match.conditions.udev = Subsystem("sound");
  EXPECT_THAT(Find(match).devices, IsEmpty());
}

TEST_F(SysfsSourcesTest, MatchesSerialNumberPatterns) {
  MatchSpec match = Usb(0x0403, 0x6001);
  std::get<UsbPattern>(match.source).serials = {Name("A9*")};
  EXPECT_THAT(Ids(Find(match)), ElementsAre("0403:6001-A9007YHT"));
  std::get<UsbPattern>(match.source).serials = {Name("B*")};
  EXPECT_THAT(Find(match).devices, IsEmpty());
}

TEST_F(SysfsSourcesTest, ReplugInTheSamePortKeepsTheId) {
  const auto before = Ids(Find(Usb(0x0403, 0x6001)));
  sysfs_.Remove(kHub + "/1-1.2");
  EXPECT_THAT(Ids(Find(Usb(0x0403, 0x6001))), ElementsAre("0403:6001-A9007YHT"));
  Adapter("1-1.2", "", 7);
  const Discovery found = Find(Usb(0x0403, 0x6001));
  EXPECT_EQ(Ids(found), before);
  EXPECT_THAT(Paths(found), Contains("/dev/ttyUSB7"));
}

TEST_F(SysfsSourcesTest, DuplicateSerialNumbersNeedThePortInTheId) {
  Adapter("1-1.3", "A9007YHT", 3);
  const Discovery found = Find(Usb(0x0403, 0x6001));
  EXPECT_THAT(Ids(found), ElementsAre("0403:6001@1-1.2"));
  EXPECT_THAT(Rejected(found.rejected), testing::SizeIs(2));
  EXPECT_THAT(Ids(Find(test::WithId(Usb(0x0403, 0x6001), "{usb_port}"))),
              ElementsAre("1-1.1", "1-1.2", "1-1.3"));
}

TEST_F(SysfsSourcesTest, HostileSerialNumbersGetValidIds) {
  Adapter("1-1.3", std::string(300, 'q'), 3);
  Adapter("1-1.4", "a\x01z", 4);
  Adapter("1-1.5", "../../etc", 5);
  Adapter("1-1.6", "\xff\xfe", 6);
  const Discovery found = Find(Usb(0x0403, 0x6001));
  EXPECT_THAT(found.devices, testing::SizeIs(6));
  for (const std::string& id : Ids(found)) EXPECT_TRUE(test::IsLegalId(id)) << id;
  EXPECT_THAT(Ids(found), Contains("0403:6001@1-1.4")) << "identified by its port";
}

TEST_F(SysfsSourcesTest, PciFunctionContainsCardAndRenderNode) {
  Graphics();
  const Discovery all = Find(Pci(0x1002, std::nullopt));
  EXPECT_THAT(Ids(all), ElementsAre("0000:03:00.0"));
  EXPECT_THAT(Paths(all), ElementsAre("/dev/dri/card0", "/dev/dri/renderD128", "/dev/i2c-4"));
  MatchSpec drm = Pci(0x1002, 0x73bf);
  drm.conditions.udev = Subsystem("drm");
  EXPECT_THAT(Paths(Find(drm)), ElementsAre("/dev/dri/card0", "/dev/dri/renderD128"));
  EXPECT_THAT(all.devices[0].values, Contains(Pair("driver", "amdgpu")));
  EXPECT_THAT(all.devices[0].values, Contains(Pair("pci_device", "73bf")));
}

TEST_F(SysfsSourcesTest, BridgeDoesNotContainDevicesBehindIt) {
  sysfs_.Device(kRoot + "/0000:00:01.0",
                {.subsystem = "pci", .attributes = {{"vendor", "0x8086"}, {"device", "0x1"}}});
  Graphics();
  const Discovery found = Find(Pci(0x8086, 0x0001));
  EXPECT_THAT(Ids(found), ElementsAre("0000:00:01.0"));
  EXPECT_THAT(found.devices[0].nodes, IsEmpty());
}

TEST_F(SysfsSourcesTest, VfioFunctionContainsItsGroupNode) {
  const std::string function = kRoot + "/0000:00:02.1";
  tree_.Dir("/sys/kernel/iommu_groups/17");
  sysfs_.Device(function, {.subsystem = "pci",
                           .driver = "vfio-pci",
                           .attributes = {{"vendor", "0x8086"}, {"device", "0x10ed"}}});
  tree_.Link(function + "/iommu_group", "../../../kernel/iommu_groups/17");
  sysfs_.Device("/sys/devices/virtual/vfio/17",
                {.subsystem = "vfio", .number = "243:0", .node = "vfio/17"});
  EXPECT_THAT(Paths(Find(Pci(0x8086, 0x10ed))), ElementsAre("/dev/vfio/17"));
  MatchSpec bound = Pci(0x8086, 0x10ed);
  bound.conditions.udev = UdevPattern{{}, {Name("vfio-*")}, {}, {}};
  EXPECT_THAT(Paths(Find(bound)), ElementsAre("/dev/vfio/17")) << "the driver is that of the group";
}

class VfioTest : public SysfsSourcesTest {
 protected:
  void SetUp() override {
    SysfsSourcesTest::SetUp();
    if (IsSkipped()) return;
    tree_.Dir("/sys/kernel/iommu_groups/62/devices");
    sysfs_.Device("/sys/devices/virtual/vfio/62",
                  {.subsystem = "vfio", .number = "243:0", .node = "vfio/62"});
  }
  /// Adds a function of the group, or replaces it.
  void Function(const std::string& address, const std::string& id, const std::string& driver) {
    const std::string path = kRoot + "/" + address;
    sysfs_.Remove(path);
    sysfs_.Device(path, {.subsystem = "pci",
                         .driver = driver,
                         .attributes = {{"vendor", "0x10de"}, {"device", id}}});
    tree_.Link(path + "/iommu_group", "../../../kernel/iommu_groups/62");
    const std::string member = "/sys/kernel/iommu_groups/62/devices/" + address;
    tree_.Remove(member);
    tree_.Link(member, "../../../../devices/pci0000:00/" + address);
  }
};

TEST_F(VfioTest, NodeBelongsOnlyToFunctionsOnVfio) {
  Function("0000:5e:00.1", "0x0fb9", "vfio-pci");  // the audio function of the card
  for (const auto& [driver, has_node] : {std::pair("", false),
                                         {"nvidia", false},
                                         {"pci-stub", false},
                                         {"vfio-pci", true},
                                         {"mlx5_vfio_pci", true},
                                         {"nvgrace-gpu-vfio-pci", true}}) {
    Function("0000:5e:00.0", "0x1eb8", driver);
    const Discovery found = Find(Pci(0x10de, 0x1eb8));
    ASSERT_EQ(found.devices.size(), 1u) << driver;
    EXPECT_EQ(found.devices[0].nodes.size(), has_node ? 1u : 0u) << driver;
  }
  // A driver of the vendor that registers its functions with VFIO, since Linux 6.1.
  Function("0000:5e:00.0", "0x1eb8", "nvidia");
  sysfs_.Device(kRoot + "/0000:5e:00.0/vfio-dev/vfio0", {.subsystem = "vfio-dev"});
  EXPECT_THAT(Paths(Find(Pci(0x10de, 0x1eb8))), ElementsAre("/dev/vfio/62"));
}

TEST_F(VfioTest, GroupWithADriverOfTheHostIsUnusable) {
  Function("0000:5e:00.0", "0x1eb8", "vfio-pci");
  for (const std::string driver : {"", "vfio-pci", "pci-stub", "pcieport"}) {
    Function("0000:5e:00.1", "0x0fb9", driver);
    EXPECT_THAT(Find(Pci(0x10de, 0x1eb8)).unusable, IsEmpty()) << driver;
  }
  Function("0000:5e:00.1", "0x0fb9", "snd_hda_intel");
  const auto is_blocked = ElementsAre(Pair(
      testing::_, AllOf(HasSubstr("0000:5e:00.1 in the same group has the driver snd_hda_intel"),
                        HasSubstr("set-override 0000:5e:00.1 vfio-pci"))));
  EXPECT_THAT(Find(Pci(0x10de, 0x1eb8)).unusable, is_blocked);
  EXPECT_THAT(Find(PathMatch({"/dev/vfio/[0-9]*"})).unusable, is_blocked);
  // The node of the function itself, for iommufd.
  const std::string vfio_dev = kRoot + "/0000:5e:00.0/vfio-dev/vfio0";
  sysfs_.Device(vfio_dev,
                {.subsystem = "vfio-dev", .number = "510:0", .node = "vfio/devices/vfio0"});
  EXPECT_THAT(Find(PathMatch({"/dev/vfio/devices/*"})).unusable, is_blocked);
}

TEST_F(SysfsSourcesTest, BlockDeviceWithoutNodeIsNoMatchingPart) {
  // A controller of a disk with native multipath has a path to the disk, and the disk is elsewhere.
  const std::string controller = kRoot + "/0000:01:00.0";
  sysfs_.Device(controller, {.subsystem = "pci",
                             .driver = "nvme",
                             .attributes = {{"vendor", "0x144d"}, {"device", "0xa80a"}}});
  sysfs_.Device(controller + "/nvme/nvme2", {.subsystem = "nvme", .number = "241:2"});
  const std::string path = controller + "/nvme/nvme2/nvme2c2n1";
  sysfs_.Device(path, {.subsystem = "block", .devtype = "disk"});
  MatchSpec disks = Pci(0x144d, 0xa80a);
  disks.conditions.udev = Subsystem("block");
  ScanRequest request{.report = true};
  const auto scan = [&](MatchSpec match) {
    return Discover(Resource({std::move(match)}), HostRoot(tree_.path()), request);
  };
  for (const MatchSpec& match : {disks, Udev(Subsystem("block"))}) {
    const Discovery found = scan(match);
    EXPECT_EQ(found.devices.size(), 0u);
    const auto is_path = [](const MatchReport::Drop& drop) {
      return drop.reason == DropReason::kCondition &&
             drop.detail.find("multipath") != std::string::npos;
    };
    EXPECT_EQ(std::ranges::count_if(found.reports.at(0).drops, is_path), 1);
  }
  // Without multipath, and without the condition.
  EXPECT_THAT(Paths(Find(Pci(0x144d, 0xa80a))), ElementsAre("/dev/nvme2"));
  sysfs_.Remove(path);
  sysfs_.Device(controller + "/nvme/nvme2/nvme2n1",
                {.subsystem = "block", .devtype = "disk", .number = "259:1"});
  EXPECT_THAT(Paths(Find(disks)), ElementsAre("/dev/nvme2n1"));
}

TEST_F(SysfsSourcesTest, NetworkInterfaceHasVariablesButNoNode) {
  for (const std::string name : {"can0", "can1"}) {
    sysfs_.Device("/sys/devices/platform/soc/" + name + "/net/" + name,
                  {.subsystem = "net",
                   .ifindex = "4",
                   .attributes = {{"type", "280"}},
                   .uevent = {{"INTERFACE", name}}});
  }
  UdevPattern can = Subsystem("net");
  can.attributes = {{"type", {Name("280")}}};
  const Discovery found = Find(Udev(can));
  EXPECT_THAT(Ids(found), ElementsAre("can0", "can1"));
  EXPECT_THAT(found.devices[1].nodes, IsEmpty());
  EXPECT_THAT(found.devices[1].values, Contains(Pair("INTERFACE", "can1")));
}

TEST_F(SysfsSourcesTest, UdevConditionsIncludeParents) {
  UdevPattern udev = Subsystem("tty");
  udev.drivers = {Name("ftdi*")};
  udev.properties = {{"ID_MODEL", {Name("FT2*")}}};
  udev.attributes = {{"idVendor", {Name("0403")}}, {"idProduct", {Name("60*")}}};
  const Discovery found = Find(Udev(udev));
  EXPECT_THAT(Ids(found), ElementsAre("0403:6001-A9007YHT-if00", "0403:6001@1-1.2-if00"));
  EXPECT_THAT(Paths(found), ElementsAre("/dev/ttyUSB0", "/dev/ttyUSB1"));

  udev.attributes = {{"idVendor", {Name("0403")}}, {"bInterfaceNumber", {Name("00")}}};
  EXPECT_THAT(Find(Udev(udev)).devices, IsEmpty()) << "as with ATTRS, all of one parent";
}

TEST_F(SysfsSourcesTest, SpacesAtTheEndOfAnAttributeNeedNoPattern) {
  tree_.File(kHub.substr(1) + "/1-1.1/model", "FT 232  \n");
  tree_.File(kHub.substr(1) + "/1-1.2/serial", "B7 \n");
  for (const char* pattern : {"FT 232", "FT 232  ", "FT*2"}) {
    UdevPattern udev = Subsystem("tty");
    udev.attributes = {{"model", {Name(pattern)}}};
    EXPECT_THAT(Paths(Find(Udev(udev))), ElementsAre("/dev/ttyUSB0")) << pattern;
    udev.attributes.emplace_back("idVendor", std::vector{Name("0403")});
    EXPECT_THAT(Paths(Find(Udev(udev))), ElementsAre("/dev/ttyUSB0")) << pattern;
  }
  for (const char* pattern : {"FT", "FT 232 ", "232"}) {
    UdevPattern udev = Subsystem("tty");
    udev.attributes = {{"model", {Name(pattern)}}};
    EXPECT_THAT(Find(Udev(udev)).devices, IsEmpty()) << pattern;
  }
  MatchSpec usb = Usb(0x0403, std::nullopt);
  std::get<UsbPattern>(usb.source).serials = {Name("B7")};
  EXPECT_THAT(Find(usb).devices, testing::SizeIs(1));
}

TEST_F(SysfsSourcesTest, ConditionsFilterPathMatches) {
  tree_.CharDevice("dev/ttyS0", 4, 64);
  MatchSpec match = test::PathMatch({"/dev/tty*"});
  EXPECT_THAT(Paths(Find(match)), ElementsAre("/dev/ttyS0", "/dev/ttyUSB0", "/dev/ttyUSB1"));
  match.conditions.usb = UsbPattern{{{0x0403, std::nullopt}}, {Name("A*")}};
  const Discovery found = Find(match);
  EXPECT_THAT(Ids(found), ElementsAre("ttyUSB0"));
  EXPECT_THAT(ValuesOf(found.devices[0]), Contains(Pair("usb_serial", "A9007YHT")));
  match.conditions = {};
  match.conditions.pci = PciPattern{{{0x8086, 0xa36d}}};
  EXPECT_THAT(Paths(Find(match)), ElementsAre("/dev/ttyUSB0", "/dev/ttyUSB1"));
}

TEST_F(SysfsSourcesTest, ResourcesOfDraHaveValuesWithoutConditions) {
  tree_.CharDevice("dev/ttyS0", 4, 64);
  tree_.File("dev/tty.lock");
  for (MatchSpec match : {test::PathMatch({"/dev/tty*"}, NodeType::kAny),
                          test::RegexMatch("/dev/tty.*", NodeType::kAny)}) {
    ResourceSpec resource = Resource({std::move(match)});
    const HostRoot host(tree_.path());
    EXPECT_THAT(ValuesOf(Discover(resource, host, "").devices.back()), IsEmpty());
    resource.api = Api::kDra;
    const Discovery found = Discover(resource, host, "");
    EXPECT_THAT(Paths(found),
                ElementsAre("/dev/tty.lock", "/dev/ttyS0", "/dev/ttyUSB0", "/dev/ttyUSB1"));
    EXPECT_THAT(found.rejected, IsEmpty());
    EXPECT_TRUE(found.complete);
    for (const Device& device : found.devices) {
      const NamedValues values = ValuesOf(device);
      if (!device.nodes.front().path.starts_with("/dev/ttyUSB")) {
        EXPECT_THAT(values, IsEmpty()) << device.id;
        continue;
      }
      EXPECT_THAT(values, IsSupersetOf({Pair("driver", "ftdi_sio"), Pair("usb_vendor", "0403"),
                                        Pair("usb_product", "6001")}));
    }
    EXPECT_THAT(ValuesOf(found.devices[2]), Contains(Pair("usb_serial", "A9007YHT")));
    EXPECT_TRUE(found.directories.contains("/run/udev/data")) << "udev can add properties later";
  }
}

TEST_F(SysfsSourcesTest, FindsDevicesByPort) {
  MatchSpec usb = Usb(0x0403, std::nullopt);
  std::get<UsbPattern>(usb.source).ports = {Name("1-2"), Name("*.2")};
  EXPECT_THAT(Ids(Find(usb)), ElementsAre("0403:6001@1-1.2"));
  MatchSpec path = test::PathMatch({"/dev/ttyUSB*"});
  path.conditions.usb = UsbPattern{{}, {}, {Name("1-1.1")}};
  EXPECT_THAT(Paths(Find(path)), ElementsAre("/dev/ttyUSB0"));
  path.conditions.usb->ports = {Name("1-1")};
  EXPECT_THAT(Find(path).devices, IsEmpty()) << "the port of the hub is not that of the adapter";
}

TEST_F(SysfsSourcesTest, FindsDevicesByAnyOfSeveralIdsAndSerials) {
  MatchSpec match;
  match.source = UsbPattern{{{0x1a86, 0x7523}, {0x0403, 0x6001}}};
  EXPECT_THAT(Find(match).devices, testing::SizeIs(2));
  std::get<UsbPattern>(match.source).serials = {Name("B*"), Name("A*")};
  EXPECT_THAT(Ids(Find(match)), ElementsAre("0403:6001-A9007YHT"));
  match.source = UsbPattern{{{0x1a86, 0x7523}, {0x0403, 0x6011}}};
  EXPECT_THAT(Find(match).devices, IsEmpty());
}

TEST_F(SysfsSourcesTest, FindsFunctionsByAddress) {
  Graphics();
  MatchSpec pci = Pci(std::nullopt, std::nullopt);
  std::get<PciPattern>(pci.source).addresses = {Name(BaseName(kCard))};
  EXPECT_THAT(Ids(Find(pci)), ElementsAre(std::string(BaseName(kCard))));
  MatchSpec path = test::PathMatch({"/dev/ttyUSB*", "/dev/dri/*"});
  path.conditions.pci = PciPattern{{}, {Name("0000:00:14.*")}};
  EXPECT_THAT(Paths(Find(path)), ElementsAre("/dev/ttyUSB0", "/dev/ttyUSB1"));
}

TEST_F(SysfsSourcesTest, NotExcludesWhatMeetsItsUsbOrPciOrUdevConditions) {
  MatchSpec path = test::PathMatch({"/dev/ttyUSB*"});
  path.negated.usb = UsbPattern{{{0x0403, std::nullopt}}, {Name("A*")}};
  EXPECT_THAT(Paths(Find(path)), ElementsAre("/dev/ttyUSB1"));
  path.negated.udev = Subsystem("sound");
  EXPECT_THAT(Paths(Find(path)), ElementsAre("/dev/ttyUSB1")) << "the USB conditions are enough";
  path.negated.pci = PciPattern{{{0x8086, 0xa36d}}};
  EXPECT_THAT(Find(path).devices, IsEmpty());
  MatchSpec usb = Usb(0x0403, std::nullopt);
  usb.negated.usb = UsbPattern{{}, {}, {Name("1-1.1")}};
  EXPECT_THAT(Ids(Find(usb)), ElementsAre("0403:6001@1-1.2"));
  MatchSpec udev = Udev(Subsystem("tty"));
  udev.negated.usb = UsbPattern{{}, {}, {Name("1-1.2")}};
  EXPECT_THAT(Paths(Find(udev)), ElementsAre("/dev/ttyUSB0"));
}

TEST_F(SysfsSourcesTest, NotExcludesWhatCannotBeChecked) {
  MatchSpec path = test::PathMatch({"/dev/ttyUSB*"});
  path.negated.usb = UsbPattern{{}, {Name("B*")}};
  EXPECT_THAT(Find(path).devices, testing::SizeIs(2));
  // Reading a directory fails, with another error than that of a missing file.
  const std::string serial = (kHub + "/1-1.2/serial").substr(1);
  tree_.File(serial + "/x");
  EXPECT_THAT(Paths(Find(path)), ElementsAre("/dev/ttyUSB0"));
  path.negated.pci = PciPattern{{}, {Name("0000:ff:*")}};
  EXPECT_THAT(Paths(Find(path)), ElementsAre("/dev/ttyUSB0")) << "another condition is not met";
}

TEST_F(SysfsSourcesTest, RegexGroupsOverrideSysfsVariables) {
  MatchSpec match = test::RegexMatch(R"(/dev/ttyUSB(?P<driver>\d))");
  match.conditions.udev = Subsystem("tty");
  match.conditions.udev->drivers = {Name("ftdi_sio")};
  const Discovery found = Find(test::WithId(match, "{driver}"));
  EXPECT_THAT(Ids(found), ElementsAre("0", "1"));
}

TEST_F(SysfsSourcesTest, GroupsNodesByUsbPort) {
  tree_.CharDevice("dev/other", 1, 3);
  MatchSpec match = test::PathMatch({"/dev/ttyUSB*", "/dev/bus/usb/*/*"});
  match.conditions.usb = UsbPattern{{{0x0403, 0x6001}}};
  const Discovery found = Find(test::Grouped(match, "usb_port", {"/dev/tty*"}));
  EXPECT_THAT(Ids(found), ElementsAre("1-1.1", "1-1.2"));
  EXPECT_THAT(found.devices[0].nodes, testing::SizeIs(2));
}

TEST_F(SysfsSourcesTest, ExcludeRemovesNodesOfADevice) {
  EXPECT_THAT(Paths(Find(test::Without(Usb(0x0403, 0x6001), "/dev/bus/**"))),
              ElementsAre("/dev/ttyUSB0", "/dev/ttyUSB1"));
}

TEST_F(SysfsSourcesTest, ExcludedNodeExcludesItsDevice) {
  tree_.Link("dev/serial/by-id/one", "../../ttyUSB0");
  for (const char* exclude : {"/dev/serial/by-id/one", "/dev/serial/by-id/*", "/dev/ttyUSB0"}) {
    EXPECT_THAT(Paths(Find(test::Without(Usb(0x0403, 0x6001), exclude))),
                UnorderedElementsAre("/dev/bus/usb/001/005", "/dev/ttyUSB1"))
        << exclude;
    EXPECT_THAT(Paths(Find(test::Without(Udev(Subsystem("tty")), exclude))),
                ElementsAre("/dev/ttyUSB1"))
        << exclude;
  }
  tree_.Remove("dev/ttyUSB0");
  const Discovery found = Find(test::Without(Usb(0x0403, 0x6001), "/dev/ttyUSB0"));
  EXPECT_THAT(Ids(found), ElementsAre("0403:6001@1-1.2"));
  EXPECT_THAT(found.rejected, IsEmpty()) << "an excluded node can be missing";
}

TEST_F(SysfsSourcesTest, NodeThatTheConditionsLeaveOutExcludesItsDevice) {
  MatchSpec tty = test::Without(Usb(0x0403, 0x6001), "/dev/bus/usb/001/004");
  tty.conditions.udev = Subsystem("tty");
  const Discovery found = Find(tty);
  EXPECT_THAT(Paths(found), ElementsAre("/dev/ttyUSB1"));
  EXPECT_THAT(found.unused_excludes, IsEmpty());
  // A wildcard only leaves out nodes, and the conditions have left this one out.
  MatchSpec wildcard = Usb(0x0403, 0x6001);
  wildcard.conditions.udev = Subsystem("tty");
  for (const char* unused : {"/dev/ttyUSB7", "/dev/bus/usb/*/004"}) {
    const Discovery none = Find(test::Without(wildcard, unused));
    EXPECT_THAT(Paths(none), ElementsAre("/dev/ttyUSB0", "/dev/ttyUSB1"));
    ASSERT_EQ(none.unused_excludes.size(), 1u);
    EXPECT_EQ(none.unused_excludes[0].what, unused);
  }
}

TEST_F(SysfsSourcesTest, ExcludedDeviceExcludesThoseBelowIt) {
  Graphics();
  const std::string hub = "/dev/bus/usb/001/002", adapter = "/dev/bus/usb/001/004";
  for (const MatchSpec& match :
       {Usb(0x0403, 0x6001), Udev(Subsystem("tty")), test::PathMatch({"/dev/ttyUSB*"})}) {
    EXPECT_THAT(Find(match).devices, testing::SizeIs(2));
    const Discovery behind_hub = Find(test::Without(match, hub));
    EXPECT_THAT(behind_hub.devices, IsEmpty());
    EXPECT_THAT(behind_hub.unused_excludes, IsEmpty());
    EXPECT_THAT(Find(test::Without(match, adapter)).devices, testing::SizeIs(1));
    for (const char* child : {"/dev/ttyUSB[01]", "/dev/ttyUSB0", "/dev/bus/usb/001/004"}) {
      const Discovery both = Find(test::Without(test::Without(match, hub), child));
      EXPECT_THAT(both.devices, IsEmpty());
      EXPECT_THAT(both.unused_excludes, IsEmpty()) << child;
    }
    EXPECT_THAT(Find(test::Without(match, "/dev/dri/card0")).devices, testing::SizeIs(2));
    EXPECT_THAT(Find(test::Without(match, "/dev/dri/card0")).unused_excludes, testing::SizeIs(1));
  }
}

// The exclude names a node of the kind that the match finds, so nothing is misspelled.
TEST_F(SysfsSourcesTest, ExcludeOfADeviceThatTheConditionsLeaveOutIsUsed) {
  MatchSpec match = Udev(Subsystem("tty"));
  std::get<UdevPattern>(match.source).properties = {{"ID_SERIAL_SHORT", {Name("A9*")}}};
  const Discovery found = Find(test::Without(match, "/dev/ttyUSB1"));
  EXPECT_THAT(Paths(found), ElementsAre("/dev/ttyUSB0"));
  EXPECT_THAT(found.unused_excludes, IsEmpty());
}

TEST_F(SysfsSourcesTest, NotExcludesTheDeviceOfAPartThatMeetsIt) {
  Graphics();
  tree_.File(kHub.substr(1) + "/1-1.1/1-1.1:1.0/ttyUSB0/tty/ttyUSB0/console", "Y\n");
  MatchSpec usb = Usb(0x0403, 0x6001);
  usb.negated.udev = UdevPattern{{}, {}, {}, {{"console", {Name("Y")}}}};
  EXPECT_THAT(Ids(Find(usb)), ElementsAre("0403:6001@1-1.2"));
  MatchSpec pci = Pci(0x1002, std::nullopt);
  EXPECT_THAT(Find(pci).devices, testing::SizeIs(1));
  pci.negated.udev = Subsystem("i2c-dev");
  EXPECT_THAT(Find(pci).devices, IsEmpty());
}

TEST_F(SysfsSourcesTest, ReportsConditionsOfNotThatExcludeNothing) {
  const auto unused = [&](const MatchSpec& match) {
    std::vector<std::string> what;
    for (const UnusedExclude& exclude : Find(match).unused_excludes) what.push_back(exclude.what);
    return what;
  };
  tree_.File(kHub.substr(1) + "/1-1.2/devpath", "1.2\n");
  UsbPattern second, misspelled;
  second.ports = {Name("1-1.2")};
  misspelled.ports = {Name("1.1-2")};
  for (MatchSpec match :
       {Usb(0x0403, 0x6001), Udev(Subsystem("tty")), test::PathMatch({"/dev/ttyUSB*"})}) {
    match.negated.usb = second;
    EXPECT_THAT(unused(match), IsEmpty());
    match.negated.usb = misspelled;
    EXPECT_THAT(unused(match), ElementsAre("not.usb_port"));
    match.negated.udev = UdevPattern{{}, {}, {{"ID_SERIAL_SHORT", {Name("SYSTEM")}}}, {}};
    EXPECT_THAT(unused(match), ElementsAre("not.udev", "not.usb_port"));
    match.exclude_required = true;
    EXPECT_THAT(Find(match).devices, testing::SizeIs(2)) << "it is about globs";
    // Both exclude the same device.
    match.negated.usb = second;
    match.negated.udev = UdevPattern{{}, {}, {}, {{"devpath", {Name("1.2")}}}};
    EXPECT_THAT(unused(match), IsEmpty());
  }
  MatchSpec absent = Usb(0x0403, 0x6015);
  absent.negated.usb = misspelled;
  EXPECT_THAT(unused(absent), IsEmpty()) << "there is nothing to exclude";
}

// Users write both, in case that one of them has a typing error.
TEST_F(SysfsSourcesTest, ExcludeAndNotForOneDeviceAreBothUsed) {
  tree_.Link("dev/serial/by-id/one", "../../ttyUSB0");
  tree_.File(kHub.substr(1) + "/1-1.1/devpath", "1.1\n");
  HardwarePatterns negated;
  negated.usb = UsbPattern{};
  negated.usb->ports = {Name("1-1.1")};
  negated.udev = UdevPattern{{}, {}, {}, {{"devpath", {Name("1.1")}}}};
  MatchSpec by_usb = Usb(0x0403, 0x6001);
  by_usb.conditions.udev = Subsystem("tty");
  for (MatchSpec match : {by_usb, Udev(Subsystem("tty")), test::PathMatch({"/dev/ttyUSB*"}),
                          test::RegexMatch("/dev/ttyUSB[0-9]+")}) {
    match.negated = negated;
    for (const std::string group_by : {"", "usb_port"}) {
      match.group_by = group_by;
      for (const char* exclude :
           {"/dev/serial/by-id/one", "/dev/ttyUSB0", "/dev/ttyUSB*0", "/dev/bus/usb/001/004"}) {
        MatchSpec both = test::Without(match, exclude);
        both.exclude_required = true;
        const Discovery found = Find(both);
        EXPECT_THAT(found.unused_excludes, IsEmpty())
            << match.source.index() << group_by << exclude;
        EXPECT_THAT(Paths(found), ElementsAre("/dev/ttyUSB1"))
            << match.source.index() << group_by << exclude;
      }
    }
    match.group_by = "";
    match.negated.usb->ports = {Name("1-1.[12]")};
    const Discovery behind_hub = Find(test::Without(match, "/dev/bus/usb/001/002"));
    EXPECT_THAT(behind_hub.unused_excludes, IsEmpty()) << match.source.index();
  }
}

TEST_F(SysfsSourcesTest, ExcludeAndNotForOneCardAreBothUsed) {
  Graphics();
  for (MatchSpec match : {Pci(0x1002, std::nullopt), test::PathMatch({"/dev/dri/card*"})}) {
    match.negated.pci = PciPattern{};
    match.negated.pci->addresses = {Name("0000:03:00.0")};
    for (const char* exclude : {"/dev/dri/card0", "/dev/dri/card*"}) {
      const Discovery found = Find(test::Without(match, exclude));
      EXPECT_THAT(found.devices, IsEmpty());
      EXPECT_THAT(found.unused_excludes, IsEmpty()) << match.source.index() << exclude;
    }
  }
}

TEST_F(SysfsSourcesTest, UnusedConditionHasTheKeysOfTheUser) {
  MatchSpec match = test::PathMatch({"/dev/ttyUSB*"});
  const auto unused = [&] {
    const Discovery found = Find(match);
    return found.unused_excludes.empty() ? "" : found.unused_excludes.front().what;
  };
  match.negated.pci = PciPattern{{{0x10ee, {}}}, {}};
  EXPECT_EQ(unused(), "not.pci");
  match.negated.pci->addresses = {Name("0000:01:00.0")};
  EXPECT_EQ(unused(), "not.pci, not.pci_address");
  match.negated.pci->ids.clear();
  EXPECT_EQ(unused(), "not.pci_address");
  match.negated.pci.reset();
  match.negated.usb = UsbPattern{};
  match.negated.usb->serials = {Name("none")};
  EXPECT_EQ(unused(), "not.serial");
}

TEST_F(SysfsSourcesTest, RejectsADeviceWithAMissingNode) {
  tree_.Remove("dev/ttyUSB0");
  const Discovery found = Find(Usb(0x0403, 0x6001));
  EXPECT_THAT(Ids(found), ElementsAre("0403:6001@1-1.2"));
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("incomplete /dev/ttyUSB0"));
  EXPECT_THAT(Ids(Find(test::Without(Usb(0x0403, 0x6001), "/dev/ttyUSB*"))), testing::SizeIs(2))
      << "an excluded node can be missing";
}

TEST_F(SysfsSourcesTest, OmitsADeviceIfAllNodesAreExcluded) {
  EXPECT_THAT(Find(test::Without(Usb(0x0403, 0x6001), "/dev/**")).devices, IsEmpty());
}

TEST_F(SysfsSourcesTest, TheFirstMatchKeepsADevice) {
  MatchSpec tty = Usb(0x0403, 0x6001);
  tty.conditions.udev = Subsystem("tty");
  const Discovery found =
      Discover(Resource({tty, Usb(0x0403, std::nullopt)}), HostRoot(tree_.path()), "");
  EXPECT_THAT(Paths(found), ElementsAre("/dev/ttyUSB0", "/dev/ttyUSB1"));
  EXPECT_THAT(found.rejected, IsEmpty());
}

TEST_F(SysfsSourcesTest, IdsOfOneInterfaceDifferByIndex) {
  const std::string camera = kHub + "/1-1.4", interface = camera + "/1-1.4:1.0";
  UsbDevice(camera, "1-1.4", "046d", "0825", "CAFE", "189:20", "bus/usb/001/020");
  sysfs_.Device(
      interface,
      {.subsystem = "usb", .devtype = "usb_interface", .attributes = {{"bInterfaceNumber", "00"}}});
  for (const int i : {0, 1}) {
    const std::string n = std::to_string(i);
    sysfs_.Device(interface + "/video4linux/video" + n,
                  {.subsystem = "video4linux", .number = "81:" + n, .attributes = {{"index", n}}});
  }
  EXPECT_THAT(Ids(Find(Udev(Subsystem("video4linux")))),
              ElementsAre("046d:0825-CAFE-if00-0", "046d:0825-CAFE-if00-1"));
  EXPECT_THAT(
      Ids(Find(Udev(Subsystem("video4*")))),
      ElementsAre("046d:0825-CAFE-if00-0-video4linux", "046d:0825-CAFE-if00-1-video4linux"));
}

/// Channels of one USB interface, with names in the order of detection.
TEST_F(SysfsSourcesTest, IdsOfNetworkInterfacesDifferByPort) {
  struct Channel {
    FakeDevice::Pairs attributes;
    std::string id;
  };
  const Channel channels[] = {
      {{{"dev_port", "0"}, {"dev_id", "0x0"}}, "1d50:606f-CAND-if00"},
      {{{"dev_port", "1"}, {"dev_id", "0x1"}}, "1d50:606f-CAND-if00-1"},
      {{{"dev_port", "0"}, {"dev_id", "0x2"}}, "1d50:606f-CAND-if00-2"},
      {{{"dev_port", "3"}}, "1d50:606f-CAND-if00-3"},
      {{{"dev_port", "0"}, {"dev_id", "0xa"}}, "1d50:606f-CAND-if00-10"},
  };
  CanAdapter();
  std::vector<std::string> ids;
  for (const Channel& channel : channels) {
    CanChannel("can" + std::to_string(9 - ids.size()), channel.attributes);
    ids.push_back(channel.id);
  }
  EXPECT_THAT(Ids(Find(Udev(Subsystem("net")))), testing::ElementsAreArray(ids));
  for (std::string& id : ids) id += "-net";
  EXPECT_THAT(Ids(Find(Udev(Subsystem("ne?")))), testing::UnorderedElementsAreArray(ids));
}

TEST_F(SysfsSourcesTest, InvalidPortNumbersStayOutOfTheId) {
  CanAdapter();
  CanChannel("can4", {{"dev_port", "-1"}, {"dev_id", "one"}});
  EXPECT_THAT(Ids(Find(Udev(Subsystem("net")))), ElementsAre("1d50:606f-CAND-if00"));
}

TEST_F(SysfsSourcesTest, HintsHowToListOnlyParents) {
  CanAdapter();
  const std::string adapter = kCan + "/1-1.4:1.0/bluetooth/hci0";
  sysfs_.Device(adapter, {.subsystem = "bluetooth", .devtype = "host"});
  EXPECT_THAT(Ids(Find(Udev(Subsystem("bluetooth")))), ElementsAre("1d50:606f-CAND-if00"));
  sysfs_.Device(adapter + "/hci0:64", {.subsystem = "bluetooth", .devtype = "link"});
  const Discovery found = Find(Udev(Subsystem("bluetooth")));
  ASSERT_THAT(Rejected(found.rejected), ElementsAre("duplicate_id hci0", "duplicate_id hci0:64"));
  EXPECT_EQ(
      found.rejected[0].detail,
      "2 devices have the ID \"1d50:606f-CAND-if00\"; hci0:64 is a child of hci0; to list only "
      "the parents, add properties = { DEVTYPE = \"host\" } to udev");
  UdevPattern hosts = Subsystem("bluetooth");
  hosts.properties = {{"DEVTYPE", {Name("host")}}};
  EXPECT_THAT(Ids(Find(Udev(hosts))), ElementsAre("1d50:606f-CAND-if00"));
}

TEST_F(SysfsSourcesTest, RejectionsWithoutNodeUseTheSysfsName) {
  CanAdapter();
  CanChannel("can2", {{"dev_port", "0"}});
  CanChannel("can3", {{"dev_port", "0"}});
  const Discovery found = Find(Udev(Subsystem("net")));
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("duplicate_id can2", "duplicate_id can3"));
  EXPECT_THAT(found.rejected[0].detail, HasSubstr("\"1d50:606f-CAND-if00\""));

  MatchSpec adapter = Usb(0x1d50, 0x606f);
  adapter.conditions.udev = Subsystem("net");
  EXPECT_THAT(Rejected(Find(test::WithId(adapter, "{ID_MODEL}")).rejected),
              ElementsAre("missing_variable 1-1.4"));
}

TEST_F(SysfsSourcesTest, AdapterUsesOneInterfaceAndReportsIt) {
  CanAdapter();
  for (const std::string name : {"can2", "can3"}) CanChannel(name, {});
  MatchSpec adapter = Usb(0x1d50, 0x606f);
  adapter.conditions.udev = Subsystem("net");
  const Discovery found =
      Discover(Resource({adapter}), HostRoot(tree_.path()), ScanRequest{.report = true});
  EXPECT_THAT(Ids(found), ElementsAre("1d50:606f-CAND"));
  EXPECT_THAT(found.devices[0].values, Contains(Pair("INTERFACE", "can2")));
  const auto is_lost = testing::Field(&MatchReport::Drop::detail, HasSubstr("its interface can2;"));
  EXPECT_THAT(found.reports[0].drops, testing::Contains(is_lost).Times(1));
}

TEST_F(SysfsSourcesTest, EveryNodeOfAUdevGroupKeepsItsValues) {
  const Discovery found = Find(test::Grouped(Udev(Subsystem("tty")), "pci_address"));
  ASSERT_THAT(found.devices, testing::SizeIs(1));
  ASSERT_THAT(found.devices[0].nodes, testing::SizeIs(2));
  EXPECT_THAT(found.devices[0].nodes[0].values, Contains(Pair("MINOR", "0")));
  EXPECT_THAT(found.devices[0].nodes[1].values, Contains(Pair("MINOR", "1")));
}

TEST_F(SysfsSourcesTest, ControlCharactersStayOutOfVariables) {
  Adapter("1-1.3", "A9\nB\tC", 3);
  const Discovery found = Find(Usb(0x0403, 0x6001));
  EXPECT_THAT(Ids(found), Contains("0403:6001@1-1.3"));
  for (const Device& device : found.devices) {
    EXPECT_THAT(device.values, testing::Not(Contains(Pair("usb_serial", HasSubstr("\n")))));
  }
}

TEST_F(SysfsSourcesTest, UdevMatchOmitsExcludedNodes) {
  EXPECT_THAT(Paths(Find(test::Without(Udev(Subsystem("tty")), "/dev/ttyUSB1"))),
              ElementsAre("/dev/ttyUSB0"));
}

TEST(SysfsSourcesOnAnEmptyHost, ReportMissingSys) {
  const test::TempTree tree;
  for (const MatchSpec& match : {Usb(0x0403, 0x6001), Pci({}, {}), Udev(Subsystem("tty"))}) {
    const Discovery found = Discover(Resource({match}), HostRoot(tree.path()), "");
    EXPECT_THAT(found.devices, IsEmpty());
    EXPECT_FALSE(found.complete);
    ASSERT_THAT(Rejected(found.rejected), ElementsAre("unreadable /sys"));
    EXPECT_THAT(found.rejected[0].detail, HasSubstr("/sys"));
  }
}

TEST(SysfsSourcesOnAnEmptyHost, DraNeedsNoSysForPaths) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  test::TempTree tree;
  tree.CharDevice("dev/null", 1, 3);
  ResourceSpec resource = Resource({test::PathMatch({"/dev/null"})});
  resource.api = Api::kDra;
  const Discovery found = Discover(resource, HostRoot(tree.path()), "");
  EXPECT_THAT(Paths(found), ElementsAre("/dev/null"));
  EXPECT_THAT(found.rejected, IsEmpty());
  EXPECT_TRUE(found.complete);
}

}  // namespace
}  // namespace patchbay
