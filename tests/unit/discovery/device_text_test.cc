// Text from a device is untrusted. A USB device chooses its serial number and
// the names of its maker and product, and the kernel prints them unescaped.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "discovery/discover.h"
#include "specs.h"
#include "support/fake_sysfs.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::FakeDevice;
using test::Ids;
using test::Paths;
using test::Rejected;
using test::Resource;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;

MatchSpec UsbMatch(std::uint16_t vendor) {
  MatchSpec match{.source = UsbPattern{{{vendor, std::nullopt}}}, .exclude = {}, .id = {}};
  return match;
}

MatchSpec SubsystemMatch(std::string_view name) {
  UdevPattern udev;
  udev.subsystems.push_back(NamePattern::Compile(name).value());
  return {.source = std::move(udev), .exclude = {}, .id = {}};
}

/// A host with a disk, a serial adapter, and a hostile USB stick.
class DeviceTextTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
    sysfs_.Device("/sys/devices/virtual/block/sda", {.subsystem = "block", .number = "8:0"});
    Stick("1-1", 0x0403, "A9007YHT", 1);
    sysfs_.Device(
        Interface("1-1") + "/ttyUSB0/tty/ttyUSB0",
        {.subsystem = "tty",
         .number = "188:0",
         .udev = {{"ID_PATH", "pci-0000:00:14.0-usb-0:1"}, {"ID_SERIAL_SHORT", "A9007YHT"}}});
    Stick("1-2", 0xdead, "A1", 2);
    sysfs_.Device(kHid, {.subsystem = "hid", .driver = "hid-generic"});
    sysfs_.Device(kInput, {.subsystem = "input"});
    sysfs_.Device(kInput + "/event7",
                  {.subsystem = "input", .number = "13:71", .node = "input/event7"});
  }

  static std::string Usb(const std::string& port) {
    return "/sys/devices/pci0000:00/0000:00:14.0/usb1/" + port;
  }
  static std::string Interface(const std::string& port) { return Usb(port) + "/" + port + ":1.0"; }

  void Stick(const std::string& port, unsigned vendor, const std::string& serial, int number) {
    char digits[5];
    std::snprintf(digits, sizeof digits, "%04x", vendor);
    sysfs_.Device(
        Usb(port),
        {.subsystem = "usb",
         .driver = "usb",
         .devtype = "usb_device",
         .number = "189:" + std::to_string(number),
         .node = "bus/usb/001/00" + std::to_string(number),
         .attributes = {{"idVendor", digits}, {"idProduct", "6001"}, {"serial", serial}}});
    sysfs_.Device(Interface(port), {.subsystem = "usb", .devtype = "usb_interface"});
  }

  /// Sets the uevent file of the HID device, whose serial number is `unique`.
  void HidUevent(const std::string& unique) {
    tree_.File(kHid + "/uevent",
               "DRIVER=hid-generic\nHID_ID=0003:0000DEAD:0000BEEF\nHID_NAME=x y\n"
               "HID_PHYS=usb-1\nHID_UNIQ=" +
                   unique + "\nMODALIAS=hid:b0003\n");
  }
  /// Sets that of the input device.
  void InputUevent(const std::string& unique) {
    tree_.File(kInput + "/uevent",
               "PRODUCT=3/dead/beef/111\nNAME=\"x y\"\nPHYS=\"usb-1\"\nUNIQ=\"" + unique +
                   "\"\nPROP=0\nEV=3\n");
  }

  Discovery Find(MatchSpec match, const std::shared_ptr<const Snapshot>& before = nullptr) {
    return Discover(Resource({std::move(match)}), HostRoot(tree_.path()),
                    ScanRequest{.before = before});
  }

  static inline const std::string kHid = Interface("1-2") + "/0003:DEAD:BEEF.0001";
  static inline const std::string kInput = kHid + "/input/input7";
  test::TempTree tree_;
  test::FakeSysfs sysfs_{tree_};
};

constexpr char kForged[] = "A1\nDEVNAME=sda\nMAJOR=8\nMINOR=0";

TEST_F(DeviceTextTest, SerialNumberCannotAddANodeOfAnotherDevice) {
  HidUevent(kForged);
  InputUevent(kForged);
  const Discovery found = Find(UsbMatch(0xdead));
  EXPECT_THAT(Paths(found), ElementsAre("/dev/bus/usb/001/002", "/dev/input/event7"));
}

TEST_F(DeviceTextTest, SerialNumberCannotAddANodeToASubsystem) {
  HidUevent(kForged);
  InputUevent(kForged);
  const Discovery hid = Find(SubsystemMatch("hid"));
  ASSERT_THAT(hid.devices, testing::SizeIs(1));
  EXPECT_THAT(hid.devices[0].nodes, IsEmpty());
  const Discovery input = Find(test::WithId(SubsystemMatch("input"), "{DEVPATH}"));
  EXPECT_THAT(input.devices, testing::SizeIs(1)) << "input7 has no node";
  EXPECT_THAT(Paths(input), ElementsAre("/dev/input/event7"));
}

TEST_F(DeviceTextTest, SerialNumberCannotClaimANodeOfAnotherDevice) {
  const std::string forged = "A1\nDEVNAME=ttyUSB0\nMAJOR=188\nMINOR=0\nSUBSYSTEM=tty";
  HidUevent(forged);
  InputUevent(forged);
  MatchSpec any{.source = UsbPattern{}, .exclude = {}, .id = {}};
  const Discovery found = Find(any);
  EXPECT_THAT(found.rejected, IsEmpty());
  for (const Device& device : found.devices) {
    for (const DeviceNode& node : device.nodes) {
      EXPECT_EQ(node.path == "/dev/ttyUSB0", device.id == "0403:6001-A9007YHT" && node.major == 188)
          << device.id << " has " << node.path;
    }
  }
}

TEST_F(DeviceTextTest, SerialNumberCannotClaimExclusiveNodes) {
  HidUevent(kForged);
  InputUevent(kForged);
  ResourceSpec owner = Resource({UsbMatch(0xdead)});
  owner.name = "example.com/stick";
  owner.exclusive = true;
  const ScanRequest request{.exclusive_above = {std::make_shared<const ResourceSpec>(owner)}};
  const Discovery disks =
      Discover(Resource({test::PathMatch({"/dev/sda"})}), HostRoot(tree_.path()), request);
  EXPECT_THAT(Ids(disks), ElementsAre("sda"));
}

TEST_F(DeviceTextTest, SerialNumberCannotForgeVariables) {
  const std::string forged =
      "A1\nINTERFACE=eth0\nID_PATH=pci-0\nDEVTYPE=usb_device\nDRIVER=vfio-pci\nSUBSYSTEM="
      "net\nIFINDEX=2";
  tree_.File("/run/udev/data/n2", "E:ID_SECRET=1\n");
  HidUevent(forged);
  InputUevent(forged);
  for (const char* subsystem : {"hid", "input"}) {
    for (const Device& device : Find(SubsystemMatch(subsystem)).devices) {
      const NamedValues& values = device.nodes.empty() ? device.values : device.nodes[0].values;
      for (const char* name : {"INTERFACE", "ID_PATH", "DEVTYPE", "IFINDEX", "ID_SECRET"}) {
        EXPECT_THAT(values, Not(Contains(Key(name)))) << subsystem;
      }
      for (const auto& [name, value] : values) {
        EXPECT_NE(value, "vfio-pci") << name;
        EXPECT_NE(value, "net") << name;
      }
    }
  }
  EXPECT_THAT(Find(SubsystemMatch("net")).devices, IsEmpty());
}

TEST_F(DeviceTextTest, SerialNumberCannotSelectAUdevDatabaseEntry) {
  HidUevent("A1\nMAJOR=188\nMINOR=0");
  const Discovery found = Find(SubsystemMatch("hid"));
  ASSERT_THAT(found.devices, testing::SizeIs(1));
  EXPECT_THAT(found.devices[0].values, Not(Contains(Key("ID_SERIAL_SHORT"))));
}

TEST_F(DeviceTextTest, NodeWithAnotherNumberIsRejected) {
  tree_.Remove("/dev/ttyUSB0");
  tree_.BlockDevice("/dev/ttyUSB0", 8, 0);
  const Discovery found = Find(SubsystemMatch("tty"));
  EXPECT_THAT(found.devices, IsEmpty());
  ASSERT_THAT(Rejected(found.rejected), ElementsAre("wrong_number /dev/ttyUSB0"));
  EXPECT_THAT(found.rejected[0].detail, HasSubstr("it is b 8:0, and the device at "));
  EXPECT_THAT(found.rejected[0].detail, HasSubstr(" is c 188:0"));
  EXPECT_THAT(Rejected(Find(UsbMatch(0x0403)).rejected), ElementsAre("wrong_number /dev/ttyUSB0"));
}

/// Two sticks with the same serial number; the second appears when the first is known.
class SharedSerialTest : public DeviceTextTest {
 protected:
  /// A scan with the result of the previous one.
  Discovery FindAgain(MatchSpec match) {
    Discovery found = Find(std::move(match), before_);
    auto snapshot = std::make_shared<Snapshot>();
    for (const Device& device : found.devices) {
      snapshot->devices.push_back({std::make_shared<const Device>(device), Health::kHealthy, ""});
    }
    before_ = std::move(snapshot);
    return found;
  }

 private:
  std::shared_ptr<const Snapshot> before_;
};

TEST_F(SharedSerialTest, FirstDeviceKeepsItsId) {
  EXPECT_THAT(Ids(FindAgain(UsbMatch(0x0403))), ElementsAre("0403:6001-A9007YHT"));
  Stick("1-0", 0x0403, "A9007YHT", 3);
  for (int request = 0; request < 2; ++request) {
    const Discovery found = FindAgain(UsbMatch(0x0403));
    EXPECT_THAT(Ids(found), ElementsAre("0403:6001-A9007YHT"));
    EXPECT_THAT(Paths(found), ElementsAre("/dev/bus/usb/001/001", "/dev/ttyUSB0"));
    ASSERT_THAT(Rejected(found.rejected), ElementsAre("duplicate_id /dev/bus/usb/001/003"));
    EXPECT_EQ(found.rejected[0].detail,
              "the ID \"0403:6001-A9007YHT\" is already used by /dev/bus/usb/001/001; set id = "
              "\"{usb_port}\" in the match, which differs for each");
  }
  sysfs_.Remove(Usb("1-1"));
  const Discovery found = FindAgain(UsbMatch(0x0403));
  EXPECT_THAT(Paths(found), ElementsAre("/dev/bus/usb/001/003")) << "the first one was removed";
}

TEST_F(SharedSerialTest, RejectsBothIfBothAreNew) {
  Stick("1-0", 0x0403, "A9007YHT", 3);
  const Discovery found = FindAgain(UsbMatch(0x0403));
  EXPECT_THAT(found.devices, IsEmpty());
  ASSERT_THAT(found.rejected, testing::SizeIs(2));
  EXPECT_EQ(found.rejected[0].detail,
            "2 devices have the ID \"0403:6001-A9007YHT\"; set id = \"{usb_port}\" in the match, "
            "which differs for each");
  EXPECT_THAT(Ids(FindAgain(test::WithId(UsbMatch(0x0403), "{usb_port}"))),
              ElementsAre("1-0", "1-1"));
}

TEST_F(SharedSerialTest, HintsHowToGroupNodesOfOneDevice) {
  sysfs_.Device(Interface("1-1") + "/ttyUSB1/tty/ttyUSB1", {.subsystem = "tty", .number = "188:1"});
  MatchSpec match = test::WithId(test::PathMatch({"/dev/ttyUSB*"}), "{usb_serial}");
  match.conditions.usb = UsbPattern{};
  const Discovery found = Find(match);
  ASSERT_THAT(Rejected(found.rejected),
              ElementsAre("duplicate_id /dev/ttyUSB0", "duplicate_id /dev/ttyUSB1"));
  EXPECT_EQ(found.rejected[0].detail,
            "2 devices have the ID \"A9007YHT\"; they are nodes of one device: set group_by = "
            "\"usb_port\" in the match to list them as one, or id = \"{path}\" to list each");
  match.id.reset();
  match.group_by = "usb_port";
  EXPECT_THAT(Ids(Find(match)), ElementsAre("1-1"));
}

TEST_F(SharedSerialTest, NewDeviceDoesNotJoinTheGroupOfTheFirst) {
  MatchSpec match = test::PathMatch({"/dev/ttyUSB*"});
  match.conditions.usb = UsbPattern{};
  match.group_by = "usb_serial";
  EXPECT_THAT(Paths(FindAgain(match)), ElementsAre("/dev/ttyUSB0"));
  Stick("1-0", 0xdead, "A9007YHT", 3);
  sysfs_.Device(Interface("1-0") + "/ttyUSB1/tty/ttyUSB1", {.subsystem = "tty", .number = "188:1"});
  const Discovery found = FindAgain(match);
  EXPECT_THAT(Ids(found), ElementsAre("A9007YHT"));
  EXPECT_THAT(Paths(found), ElementsAre("/dev/ttyUSB0"));
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("duplicate_id /dev/ttyUSB1"));
}

TEST_F(SharedSerialTest, LinksToOneNodeAreOneDevice) {
  tree_.Link("/dev/links/modem", "../ttyUSB0");
  const MatchSpec links = test::PathMatch({"/dev/links/*"});
  EXPECT_THAT(Ids(FindAgain(links)), ElementsAre("modem"));
  tree_.Link("/dev/links/alias", "../ttyUSB0");
  const Discovery found = FindAgain(links);
  EXPECT_THAT(Ids(found), ElementsAre("modem")) << "its previous name";
  EXPECT_THAT(found.rejected, IsEmpty());
  EXPECT_THAT(Ids(Find(links)), ElementsAre("alias")) << "in a scan without a previous result";
}

TEST_F(SharedSerialTest, NodesAreComparedByDeviceNumber) {
  tree_.CharDevice("/dev/copy", 188, 0);
  ResourceSpec owner = Resource({test::PathMatch({"/dev/copy"})});
  owner.exclusive = true;
  const ScanRequest request{.exclusive_above = {std::make_shared<const ResourceSpec>(owner)}};
  const Discovery found =
      Discover(Resource({test::PathMatch({"/dev/ttyUSB*"})}), HostRoot(tree_.path()), request);
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("taken /dev/ttyUSB0"));
}

}  // namespace
}  // namespace patchbay
