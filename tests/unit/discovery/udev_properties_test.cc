#include "discovery/udev_properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "discovery/sysfs.h"
#include "support/fake_sysfs.h"
#include "support/libudev.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::FakeDevice;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;

constexpr char kCard[] = "/sys/devices/virtual/x/card0";

class UdevPropertiesTest : public testing::Test {
 protected:
  Properties Of(const std::string& path) {
    const auto device = Sysfs(HostRoot(tree_.path())).Read(path);
    EXPECT_TRUE(device) << device.error().message;
    return device ? device->properties : Properties();
  }
  /// Returns the kept value of a property in the udev database.
  std::string Kept(const std::string& value) {
    tree_.Remove("/sys/devices");
    tree_.Remove("/sys/class");
    tree_.Remove("/run");
    fake_.Device(kCard, {.subsystem = "x", .udev = {{"VALUE", value}}});
    const Properties properties = Of(kCard);
    const auto kept = properties.find("VALUE");
    return kept == properties.end() ? "nothing" : kept->second;
  }

  test::TempTree tree_;
  test::FakeSysfs fake_{tree_};
};

TEST_F(UdevPropertiesTest, MergesKernelAndDatabaseProperties) {
  fake_.Device(kCard, {.subsystem = "x",
                       .number = "240:7",
                       .uevent = {{"PRODUCT", "1/2/3"}},
                       .udev = {{"ID_MODEL", "Card"}, {"PRODUCT", "better"}},
                       .links = {"z/last", "a/first"}});
  EXPECT_THAT(
      Of(kCard),
      ElementsAre(Pair("DEVLINKS", "/dev/a/first /dev/z/last"), Pair("DEVNAME", "/dev/card0"),
                  Pair("DEVPATH", kCard + 4), Pair("ID_MODEL", "Card"), Pair("MAJOR", "240"),
                  Pair("MINOR", "7"), Pair("PRODUCT", "better"), Pair("SUBSYSTEM", "x")));
}

TEST_F(UdevPropertiesTest, FindsTheDatabaseEntryOfEveryDeviceType) {
  const FakeDevice::Pairs udev = {{"ID_PATH", "there"}};
  const std::string top = "/sys/devices/virtual/";
  fake_.Device(top + "tty/tty1", {.subsystem = "tty", .number = "4:1", .udev = udev});
  fake_.Device(top + "block/sda", {.subsystem = "block", .number = "4:1", .udev = udev});
  fake_.Device(top + "net/eth0", {.subsystem = "net", .ifindex = "2", .udev = udev});
  fake_.Device(top + "usb/1-1", {.subsystem = "usb", .udev = udev});
  fake_.Device(top + "snd/a!b", {.subsystem = "sound", .udev = udev});
  for (const char* name : {"tty/tty1", "block/sda", "net/eth0", "usb/1-1", "snd/a!b"}) {
    EXPECT_THAT(Of(top + name), Contains(Pair("ID_PATH", "there"))) << name;
  }
  for (const char* entry : {"c4:1", "b4:1", "n2", "+usb:1-1", "+sound:a!b"}) {
    tree_.Remove(std::string("/run/udev/data/") + entry);
  }
  for (const char* name : {"tty/tty1", "block/sda", "net/eth0", "usb/1-1", "snd/a!b"}) {
    EXPECT_THAT(Of(top + name), Not(Contains(Key("ID_PATH")))) << name;
  }
}

TEST_F(UdevPropertiesTest, ReadsOnlyKernelPropertiesWithoutADatabase) {
  fake_.Device(kCard, {.subsystem = "x", .devtype = "card"});
  EXPECT_FALSE(UdevProperties(HostRoot(tree_.path())).HasDatabase());
  EXPECT_THAT(Of(kCard), ElementsAre(Pair("DEVPATH", kCard + 4), Pair("DEVTYPE", "card"),
                                     Pair("SUBSYSTEM", "x")));
  tree_.Dir("/run/udev/data");
  EXPECT_TRUE(UdevProperties(HostRoot(tree_.path())).HasDatabase());
}

TEST_F(UdevPropertiesTest, OmitsInternalUdevProperties) {
  fake_.Device(kCard, {.subsystem = "x",
                       .uevent = {{"SEQNUM", "1"}, {"ACTION", "add"}, {"SYNTH_UUID", "0"}},
                       .udev = {{"USEC_INITIALIZED", "1"}, {"TAGS", ":a:"}, {"CURRENT_TAGS", ""}}});
  EXPECT_THAT(Of(kCard), ElementsAre(Pair("DEVPATH", kCard + 4), Pair("SUBSYSTEM", "x")));
}

TEST_F(UdevPropertiesTest, OmitsInvalidValues) {
  EXPECT_EQ(Kept("A=B:C"), "A=B:C");
  EXPECT_EQ(Kept("M\xc3\xbcller"), "M\xc3\xbcller");
  EXPECT_EQ(Kept(std::string(300, 's')), std::string(300, 's'));
  EXPECT_EQ(Kept(std::string(4096, 's')), std::string(4096, 's'));
  EXPECT_EQ(Kept(std::string(4097, 's')), "nothing");
  EXPECT_EQ(Kept("a\x1b[31m"), "nothing");
  EXPECT_EQ(Kept("a\tb"), "nothing");
  EXPECT_EQ(Kept("a\r"), "nothing");
  EXPECT_EQ(Kept("\x7f"), "nothing");
  EXPECT_EQ(Kept("\xff\xfe"), "nothing");
  EXPECT_EQ(Kept(std::string("a\0b", 3)), "nothing");
  EXPECT_EQ(Kept(""), "nothing") << "an empty value removes a property";
}

TEST_F(UdevPropertiesTest, IgnoresMalformedDatabaseLines) {
  fake_.Device(kCard, {.number = "240:7", .udev = {{"ID", "first"}}});
  tree_.File("/run/udev/data/c240:7", "\nE\nE:\nE:=x\nE:LONELY\nX:A=B\nS:\nID=1\nE:ID=last\nE:A=B");
  EXPECT_THAT(Of(kCard), ElementsAre(Pair("A", "B"), Pair("DEVLINKS", "/dev/"),
                                     Pair("DEVNAME", "/dev/card0"), Pair("DEVPATH", kCard + 4),
                                     Pair("ID", "last"), Pair("MAJOR", "240"), Pair("MINOR", "7")));
}

TEST_F(UdevPropertiesTest, NumberCannotLeaveTheDatabase) {
  tree_.File("/secret", "E:SECRET=1\n");
  tree_.Dir("/run/udev/data/c1:");
  fake_.Device(kCard, {.subsystem = "x"});
  for (const char* number :
       {"1:/../../../../secret\n", "1:\n", "1:2", "1:2\n3:4\n", "-1:2\n", ""}) {
    tree_.File(std::string(kCard) + "/dev", number);
    EXPECT_THAT(Of(kCard), Not(Contains(Key("SECRET")))) << number;
    EXPECT_THAT(Of(kCard), Not(Contains(Key("MAJOR")))) << number;
  }
}

TEST(TrustedUevent, StopsAtTheFirstLineWithDeviceText) {
  EXPECT_THAT(
      TrustedUevent("MAJOR=188\nMINOR=0\nDEVNAME=ttyUSB0\n"),
      ElementsAre(Pair("DEVNAME", "/dev/ttyUSB0"), Pair("MAJOR", "188"), Pair("MINOR", "0")));
  EXPECT_THAT(TrustedUevent("HID_ID=0003:1\nHID_NAME=a\nHID_UNIQ=b\nMODALIAS=c\n"),
              ElementsAre(Pair("HID_ID", "0003:1"), Pair("HID_NAME", "a")));
  EXPECT_THAT(TrustedUevent("PRODUCT=3/1/1/1\nNAME=\"x\nDEVNAME=sda\n"),
              ElementsAre(Pair("NAME", "\"x"), Pair("PRODUCT", "3/1/1/1")));
  EXPECT_THAT(TrustedUevent("DRIVER=usb\nDRIVER=other\nTYPE=0/0/0\n"),
              ElementsAre(Pair("DRIVER", "usb")))
      << "a repeated key";
  EXPECT_THAT(TrustedUevent("DRIVER=usb\n\nTYPE=0/0/0\n"), ElementsAre(Pair("DRIVER", "usb")));
  EXPECT_THAT(
      TrustedUevent("OF_NAME=uart\nOF_COMPATIBLE_0=x\nMODALIAS=of:N\nX=1\n"),
      ElementsAre(Pair("MODALIAS", "of:N"), Pair("OF_COMPATIBLE_0", "x"), Pair("OF_NAME", "uart")));
  EXPECT_THAT(TrustedUevent(""), IsEmpty());
}

TEST_F(UdevPropertiesTest, DatabaseCannotOverrideKernelProperties) {
  fake_.Device(kCard, {.subsystem = "x",
                       .number = "240:7",
                       .udev = {{"DEVNAME", "/dev/sda"},
                                {"SUBSYSTEM", "usb"},
                                {"DRIVER", "vfio-pci"},
                                {"MAJOR", "8"},
                                {"ID_MODEL", "Card"}}});
  EXPECT_THAT(Of(kCard), ElementsAre(Pair("DEVNAME", "/dev/card0"), Pair("DEVPATH", kCard + 4),
                                     Pair("ID_MODEL", "Card"), Pair("MAJOR", "240"),
                                     Pair("MINOR", "7"), Pair("SUBSYSTEM", "x")));
}

TEST_F(UdevPropertiesTest, UeventFileCannotOverrideFacts) {
  fake_.Device(kCard, {.subsystem = "x",
                       .uevent = {{"DRIVER", "vfio-pci"}, {"IFINDEX", "7"}, {"TYPE", "0/0/0"}}});
  EXPECT_THAT(Of(kCard), ElementsAre(Pair("DEVPATH", kCard + 4), Pair("SUBSYSTEM", "x"),
                                     Pair("TYPE", "0/0/0")));
}

TEST_F(UdevPropertiesTest, MissingDeviceIsAnError) {
  const UdevProperties properties(HostRoot(tree_.path()));
  const auto error = [&](const char* path) {
    return properties.Of(HostNode{path, FileType::kDirectory, 0, 0}, {}).error().kind;
  };
  EXPECT_EQ(error(kCard), ErrorKind::kNotFound);
  EXPECT_EQ(error("/sys/devices"), ErrorKind::kNotFound);
  EXPECT_EQ(error("/etc"), ErrorKind::kInvalid);
  EXPECT_EQ(error("/"), ErrorKind::kInvalid);
}

// All devices of this system: libudev must have the same value for each property.
TEST(UdevPropertiesOfThisSystem, AgreeWithLibudev) {
  const Sysfs sysfs(HostRoot("/"));
  const SysfsPaths found = sysfs.Devices([](std::string_view) { return true; });
  if (found.paths.empty()) GTEST_SKIP() << "no devices here: " << found.errors.front().message;
  for (const std::string& path : found.paths) {
    std::string difference;
    for (int i = 0; i < 10; ++i) {  // repeated, because devices can change meanwhile
      const auto device = sysfs.Read(path);
      difference = device ? test::DifferenceFromLibudev(path, device->properties) : "";
      if (difference.empty()) break;
    }
    EXPECT_EQ(difference, "") << path;
  }
}

}  // namespace
}  // namespace patchbay
