#include "suggest/identity.h"

#include <unistd.h>

#include "suggest_support.h"

namespace patchbay {
namespace {

using test::kXhci;
using test::WithoutComments;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class IdentityTest : public test::SuggestTest {};

TEST_F(IdentityTest, MatchesByUniqueSerialNumber) {
  Tty(Usb("1-1", "0403:6001", "A9007YHT"), 0);
  EXPECT_THAT(Suggested(), AllOf(HasSubstr("by its serial number"), HasSubstr(R"(
  usb = "0403:6001"
  serial = "A9007YHT"
  udev = { subsystem = "tty" }
)"),
                                 Not(HasSubstr("usb_port"))));
}

TEST_F(IdentityTest, MatchesByPortWithoutUsableSerialNumber) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", "it has no serial number"},
      {"0001", "its serial number is a placeholder"},
      {"0000000000", "its serial number is a placeholder"},
      {"0123456789ABCDEF", "its serial number is a placeholder"}};
  for (const auto& [serial, why] : kCases) {
    Tty(Usb("1-1", "10c4:ea60", serial), 0);
    EXPECT_THAT(Suggested(), AllOf(HasSubstr(std::string("because ") + why), HasSubstr(R"(
  usb = "10c4:ea60"
  usb_port = "*-1"
  pci_address = "0000:00:14.0"
  udev = { subsystem = "tty" }
  id = "{pci_address}-usb-1"
)")));
    sysfs_.Remove(kXhci + "/usb1/1-1");
  }
}

TEST_F(IdentityTest, MatchesEqualSerialNumbersByPort) {
  Tty(Usb("1-1", "0403:6001", "A9007YHT"), 0);
  Tty(Usb("1-2", "0403:6001", "A9007YHT"), 1);
  EXPECT_THAT(Suggested(), AllOf(HasSubstr("another device has its serial number"),
                                 HasSubstr(R"(usb_port = "*-1")"), HasSubstr(R"(usb_port = "*-2")"),
                                 Not(HasSubstr("  serial ="))));
}

TEST_F(IdentityTest, SerialNumbersThatDifferInSpacesAtTheEndAreEqual) {
  Tty(Usb("1-1", "0403:6001", "A9007YHT"), 0);
  Tty(Usb("1-2", "0403:6001", "A9007YHT  "), 1);
  EXPECT_THAT(Suggested(), Not(HasSubstr("  serial =")));
}

TEST_F(IdentityTest, PortsOfBusesOfOneControllerAreDistinguishedWithoutTheNumbersOfTheBuses) {
  const auto plug = [&](const std::string& bus, const std::string& product, const std::string& id) {
    const std::string usb = kXhci + "/usb" + bus, device = usb + "/" + bus + "-1";
    sysfs_.Device(usb, {.subsystem = "usb",
                        .devtype = "usb_device",
                        .attributes = {{"idVendor", "1d6b"}, {"idProduct", product}}});
    sysfs_.Device(device,
                  {.subsystem = "usb",
                   .devtype = "usb_device",
                   .attributes = {{"idVendor", id.substr(0, 4)}, {"idProduct", id.substr(5)}}});
    sysfs_.Device(device + "/" + bus + "-1:1.0", {.subsystem = "usb", .devtype = "usb_interface"});
    Tty(device + "/" + bus + "-1:1.0", bus[0] - '0');
  };
  for (const std::string second : {"10c4:ea60", "1a86:7523"}) {
    std::string suggested[2];
    for (const int boot : {0, 1}) {
      sysfs_.Remove(kXhci);
      sysfs_.Device(kXhci, {.subsystem = "pci", .driver = "xhci_hcd"});
      plug(boot == 0 ? "1" : "4", "0002", "10c4:ea60");
      plug(boot == 0 ? "2" : "3", "0003", second);
      suggested[boot] = WithoutComments(Suggested());
    }
    // The devices are in the order of their names.
    const auto end = suggested[1].find("\n\n", suggested[1].find("match"));
    suggested[1].insert(suggested[1].find("\n\n") + 1, suggested[1].substr(end + 1));
    suggested[1].resize(suggested[0].size());
    EXPECT_THAT(suggested[0],
                AllOf(HasSubstr("-usb-1-0002\""), HasSubstr("-usb-1-0003\""),
                      HasSubstr(second == "10c4:ea60" ? "idProduct = \"0003\"" : "usb = \"1a86")));
    EXPECT_EQ(suggested[0], suggested[1]) << second;
  }
}

TEST_F(IdentityTest, PortsOfAControllerOfTheBoardAreMatchedByItsPlace) {
  std::string suggested[2];
  for (const std::string number : {"0", "3"}) {
    const std::string board = "/sys/devices/platform/fc000000.usb";
    const std::string usb = board + "/xhci-hcd." + number + ".auto/usb" + number + "1";
    sysfs_.Device(board, {.subsystem = "platform", .driver = "dwc3"});
    sysfs_.Device(board + "/xhci-hcd." + number + ".auto", {.subsystem = "platform"});
    sysfs_.Device(usb, {.subsystem = "usb", .devtype = "usb_device"});
    const std::string device = usb + "/" + number + "1-2";
    sysfs_.Device(device, {.subsystem = "usb",
                           .devtype = "usb_device",
                           .attributes = {{"idVendor", "10c4"}, {"idProduct", "ea60"}}});
    Tty(device, 0);
    suggested[number == "3"] = WithoutComments(Suggested());
    sysfs_.Remove(board);
  }
  EXPECT_THAT(suggested[0],
              AllOf(HasSubstr(R"(/fc000000.usb/xhci-hcd.{[0-9],)"), HasSubstr(R"(}.auto/usb*")"),
                    HasSubstr(R"(usb_port = "*-2")"), HasSubstr(R"(id = "fc000000.usb-usb-2")")));
  EXPECT_EQ(suggested[0], suggested[1]);
}

TEST_F(IdentityTest, PortOfAnUnknownControllerIsMatchedWithTheNumberOfItsBus) {
  sysfs_.Remove(kXhci);
  const std::string device = kXhci + "/usb1/1-1";
  sysfs_.Device(device, {.subsystem = "usb",
                         .devtype = "usb_device",
                         .attributes = {{"idVendor", "10c4"}, {"idProduct", "ea60"}}});
  Tty(device, 0);
  EXPECT_THAT(Suggested(), AllOf(HasSubstr("the number of its bus"),
                                 HasSubstr(R"(usb_port = "1-1")"), Not(HasSubstr("pci_address"))));
}

TEST_F(IdentityTest, DistinguishesPortsOfOneAdapterByInterface) {
  const std::string first = Usb("1-1", "0403:6010", "FT123");
  const std::string second = kXhci + "/usb1/1-1/1-1:1.1";
  sysfs_.Device(
      second,
      {.subsystem = "usb", .devtype = "usb_interface", .attributes = {{"bInterfaceNumber", "01"}}});
  Tty(first, 0);
  Tty(second, 1);
  EXPECT_THAT(Suggested(), HasSubstr(R"(
  path = "/dev/ttyUSB*"
  usb = "0403:6010"
  serial = "FT123"
  udev = { subsystem = "tty", attributes = { bInterfaceNumber = "01" } }
  id = "{usb_vendor}:{usb_product}-{usb_serial}-01"
)"));
}

TEST_F(IdentityTest, MatchesPciFunctionByAddress) {
  const std::string gpu = "/sys/devices/pci0000:00/0000:00:02.0";
  sysfs_.Device(gpu, {.subsystem = "pci",
                      .driver = "i915",
                      .attributes = {{"vendor", "0x8086"}, {"device", "0x46a6"}}});
  sysfs_.Device(gpu + "/drm/card1",
                {.subsystem = "drm", .number = "226:1", .node = "/dev/dri/card1"});
  sysfs_.Device(gpu + "/drm/renderD128",
                {.subsystem = "drm", .number = "226:128", .node = "/dev/dri/renderD128"});
  EXPECT_THAT(Suggested(), HasSubstr(R"(
  # GPU (/dev/dri/card1, /dev/dri/renderD128)
  # It is matched by its PCI address.
  [[resource.match]]
  pci = "8086:46a6"
  pci_address = "0000:00:02.0"
  udev = { subsystem = "drm" }
)"));
}

TEST_F(IdentityTest, PortsOfACardThatOnlyTheirNumbersDistinguishAreMatchedByAddressAndNumber) {
  const std::string card = "/sys/devices/pci0000:00/0000:04:00.0";
  sysfs_.Device(card,
                {.subsystem = "pci", .attributes = {{"vendor", "0x1393"}, {"device", "0x1043"}}});
  for (const std::string number : {"0", "1"}) {
    sysfs_.Device(card + "/tty/ttyMI" + number, {.subsystem = "tty", .number = "174:" + number});
  }
  for (const std::string& suggested : {Suggested(), Suggested({"ttyMI0", "ttyMI1"})}) {
    EXPECT_THAT(suggested, AllOf(HasSubstr("example.com/uart"), HasSubstr(R"(
  path = "/dev/ttyMI1"
  pci = "1393:1043"
  pci_address = "0000:04:00.0"
  udev = { subsystem = "tty" }
  id = "{pci_address}-ttyMI1"
)")));
  }
}

TEST_F(IdentityTest, NodeOfAnIommuGroupIsMatchedByPciAddress) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can create device nodes";
  const std::string function = "/sys/devices/pci0000:00/0000:0a:00.0";
  sysfs_.Device(function, {.subsystem = "pci",
                           .driver = "vfio-pci",
                           .attributes = {{"vendor", "0x10de"}, {"device", "0x1e87"}}});
  tree_.Link(function + "/iommu_group", "../../../kernel/iommu_groups/26");
  tree_.Link("/sys/kernel/iommu_groups/26/devices/0000:0a:00.0",
             "../../../../devices/pci0000:00/0000:0a:00.0");
  sysfs_.Device("/sys/devices/virtual/vfio/26",
                {.subsystem = "vfio", .number = "511:0", .node = "vfio/26"});
  EXPECT_EQ(Suggested({"/dev/vfio/26"}), Suggested({"0000:0a:00.0"}));
}

TEST_F(IdentityTest, MatchesByIdPathOfUdev) {
  const std::string npu = "/sys/devices/platform/fdab0000.npu";
  sysfs_.Device("/sys/devices/platform", {});
  sysfs_.Device(npu, {.subsystem = "platform", .driver = "RKNPU"});
  sysfs_.Device(npu + "/drm/renderD129", {.subsystem = "drm",
                                          .number = "226:129",
                                          .node = "/dev/dri/renderD129",
                                          .udev = {{"ID_PATH", "platform-fdab0000.npu"}}});
  EXPECT_THAT(Suggested(), HasSubstr(R"(
  udev = { subsystem = "{accel,drm}", properties = { ID_PATH = "platform-fdab0000.npu" } }
  group_by = "parent"
  id = "{ID_PATH}"
)"));
}

/// Adds two I2C buses of a board, one of them behind a multiplexer on the other one, and two SPI
/// devices. The kernel counts from these numbers.
void AddBuses(int i2c, int spi, test::FakeSysfs& sysfs) {
  const auto add_bus = [&](const std::string& above, int number) {
    const std::string name = "i2c-" + std::to_string(number);
    sysfs.Device(above + "/" + name, {.subsystem = "i2c"});
    sysfs.Device(above + "/" + name + "/i2c-dev/" + name,
                 {.subsystem = "i2c-dev", .number = "89:" + std::to_string(number)});
    return above + "/" + name;
  };
  sysfs.Device("/sys/devices/platform", {});
  sysfs.Device("/sys/devices/platform/fe205000.i2c", {.subsystem = "platform"});
  add_bus(add_bus("/sys/devices/platform/fe205000.i2c", i2c), i2c + 1);
  sysfs.Device("/sys/devices/platform/fe204000.spi", {.subsystem = "platform"});
  const std::string bus = std::to_string(spi);
  const std::string master = "/sys/devices/platform/fe204000.spi/spi_master/spi" + bus;
  sysfs.Device(master, {.subsystem = "spi_master"});
  for (const std::string select : {".0", ".1"}) {
    sysfs.Device(master + "/spi" + bus + select, {.subsystem = "spi"});
    sysfs.Device(master + "/spi" + bus + select + "/spidev/spidev" + bus + select,
                 {.subsystem = "spidev", .number = "153:" + select.substr(1)});
  }
}

TEST_F(IdentityTest, MatchesByPlaceWithoutNumbersOfTheKernel) {
  AddBuses(0, 0, sysfs_);
  const std::string before = Suggested();
  EXPECT_THAT(
      before,
      AllOf(HasSubstr(
                R"(DEVPATH = "/devices/platform/fe204000.spi/spi_master/spi{[0-9],[0-9][0-9],)"),
            HasSubstr(R"(id = "fe204000.spi-spi.1-spidev.1")")));
  sysfs_.Remove("/sys/devices/platform");
  AddBuses(9, 3, sysfs_);
  EXPECT_EQ(WithoutComments(before), WithoutComments(Suggested()));
}

TEST_F(IdentityTest, PatternOfABusDoesNotMatchABusThatComesBehindIt) {
  sysfs_.Device("/sys/devices/platform", {});
  sysfs_.Device("/sys/devices/platform/fe205000.i2c", {.subsystem = "platform"});
  sysfs_.Device("/sys/devices/platform/fe205000.i2c/i2c-1", {.subsystem = "i2c"});
  sysfs_.Device("/sys/devices/platform/fe205000.i2c/i2c-1/i2c-dev/i2c-1",
                {.subsystem = "i2c-dev", .number = "89:1"});
  for (const std::string& suggested : {Suggested(), Suggested({"i2c-1"})}) {
    EXPECT_THAT(suggested, HasSubstr("/i2c-{[0-9],[0-9][0-9],[0-9][0-9][0-9]}/i2c-dev/i2c-*\""));
  }
}

TEST_F(IdentityTest, VirtualDevicesAreMatchedByTheNameThatTheyHave) {
  tree_.File("/proc/1/net/route", "");
  tree_.File("/proc/1/net/dev", "br-lan0: 0\nvcan0: 0\n");
  for (const std::string name : {"br-lan0", "vcan0"}) {
    sysfs_.Device("/sys/devices/virtual/net/" + name, {.subsystem = "net",
                                                       .ifindex = std::to_string(name.size()),
                                                       .attributes = {{"type", "280"}}});
    EXPECT_THAT(WithoutComments(Suggested({name})),
                HasSubstr("DEVPATH = \"/devices/virtual/net/" + name + "\""));
  }
  sysfs_.Device("/sys/devices/virtual/block/loop0",
                {.subsystem = "block", .devtype = "disk", .number = "7:0"});
  EXPECT_THAT(Suggested({"loop0"}),
              AllOf(HasSubstr("path = \"/dev/loop0\""), HasSubstr("by its name, which stays")));
}

TEST_F(IdentityTest, RequestedDeviceIsMatchedByTypeIfNoOtherOneHasIt) {
  Tty(Usb("1-1", "0403:6001", "A9007YHT"), 0);
  EXPECT_THAT(Suggested({"ttyUSB0"}), HasSubstr(R"(
  [[resource.match]]
  usb = "0403:6001"
  udev = { subsystem = "tty" }

  # Or by its serial number.
  # [[resource.match]]
  # usb = "0403:6001"
  # serial = "A9007YHT"
  # udev = { subsystem = "tty" }

  # Or by its USB port: keep it plugged in there.
  # [[resource.match]]
  # usb = "0403:6001"
  # usb_port = "*-1"
  # pci_address = "0000:00:14.0"
)"));
}

TEST_F(IdentityTest, RequestedDeviceIsMatchedExactlyIfOthersHaveItsType) {
  Tty(Usb("1-1", "0403:6001", "A9007YHT"), 0);
  Tty(Usb("1-2", "0403:6001", "A9007YHU"), 1);
  const std::string suggested = Suggested({"1-2"});
  EXPECT_THAT(WithoutComments(suggested), AllOf(HasSubstr("A9007YHU"), Not(HasSubstr("A9007YHT"))));
  EXPECT_THAT(suggested, HasSubstr("  # Or all of its type.\n  # [[resource.match]]\n"));
}

TEST_F(IdentityTest, AlternativeForAllOfATypeIsThereOnceWithAnIdThatIsUnique) {
  Tty(Usb("1-1", "0403:6001", "A9007YHT"), 0);
  Tty(Usb("1-2", "0403:6001", "SAME"), 1);
  Tty(Usb("1-3", "0403:6001", "SAME"), 2);
  const std::string suggested = Suggested({"1-1", "1-2"});
  const std::string all = R"(
  # Or all of its type.
  # [[resource.match]]
  # usb = "0403:6001"
  # udev = { subsystem = "tty" }
  # id = "{usb_port}"
)";
  EXPECT_THAT(suggested, HasSubstr(all));
  EXPECT_EQ(suggested.find("Or all"), suggested.rfind("Or all"));
}

TEST_F(IdentityTest, PlacesOfOneResourceHaveDifferentIds) {
  sysfs_.Device("/sys/devices/platform", {});
  sysfs_.Device("/sys/devices/platform/MSFT0101:00", {.subsystem = "platform"});
  for (const std::string kind : {"tpm", "tpmrm"}) {
    sysfs_.Device("/sys/devices/platform/MSFT0101:00/" + kind + "/" + kind + "0",
                  {.subsystem = kind, .number = kind == "tpm" ? "10:224" : "253:0"});
  }
  EXPECT_THAT(Suggested({"tpm0", "tpmrm0"}), Not(HasSubstr(R"(id = "MSFT0101:00")")));
}

TEST_F(IdentityTest, RequestedEqualDevicesAreMatchedByNameWithAReason) {
  for (const std::string name : {"tpmrm0", "tpmrm1"}) {
    sysfs_.Device("/sys/devices/virtual/tpmrm/" + name,
                  {.subsystem = "tpmrm", .number = "253:" + name.substr(5)});
  }
  EXPECT_THAT(Suggested({"tpmrm1"}),
              AllOf(HasSubstr("nothing that stays"), HasSubstr(R"(path = "/dev/tpmrm1")")));
}

TEST_F(IdentityTest, EqualDevicesShareOneMatchInAComment) {
  sysfs_.Device("/sys/devices/platform", {});
  for (const std::string name : {"tpmrm0", "tpmrm1"}) {
    sysfs_.Device("/sys/devices/platform/tpmrm/" + name,
                  {.subsystem = "tpmrm", .number = "253:" + name.substr(5)});
  }
  const std::string suggested = Suggested();
  EXPECT_THAT(suggested, HasSubstr("distinguishes it from 1 other device"));
  EXPECT_EQ(WithoutComments(suggested), "\n");
}

}  // namespace
}  // namespace patchbay
