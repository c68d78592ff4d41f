#include "discovery/udev_properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "discovery/sysfs.h"
#include "support/fake_sysfs.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::FakeDevice;
using testing::Contains;
using testing::ElementsAre;
using testing::Key;
using testing::Not;
using testing::Pair;

constexpr char kCard[] = "/sys/devices/virtual/x/card0";

class UdevPropertiesTest : public testing::Test {
 protected:
  Properties Of(const std::string& path) {
    const HostRoot host(tree_.path());
    auto properties = UdevProperties(host).Of(*host.Resolve(path));
    EXPECT_TRUE(properties) << properties.error().message;
    return properties ? std::move(*properties) : Properties();
  }
  /// The value that udev is said to have of the one device.
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

TEST_F(UdevPropertiesTest, JoinsTheKernelAndTheDatabase) {
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

TEST_F(UdevPropertiesTest, FindsTheEntryOfEveryKindOfDevice) {
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

TEST_F(UdevPropertiesTest, TheKernelAloneMustDoWithoutADatabase) {
  fake_.Device(kCard, {.subsystem = "x", .devtype = "card"});
  EXPECT_FALSE(UdevProperties(HostRoot(tree_.path())).HasDatabase());
  EXPECT_THAT(Of(kCard), ElementsAre(Pair("DEVPATH", kCard + 4), Pair("DEVTYPE", "card"),
                                     Pair("SUBSYSTEM", "x")));
  tree_.Dir("/run/udev/data");
  EXPECT_TRUE(UdevProperties(HostRoot(tree_.path())).HasDatabase());
}

TEST_F(UdevPropertiesTest, LeavesOutWhatOnlyUdevHasAUseFor) {
  fake_.Device(kCard, {.uevent = {{"SEQNUM", "1"}, {"ACTION", "add"}, {"SYNTH_UUID", "0"}},
                       .udev = {{"USEC_INITIALIZED", "1"}, {"TAGS", ":a:"}, {"CURRENT_TAGS", ""}}});
  EXPECT_THAT(Of(kCard), ElementsAre(Pair("DEVPATH", kCard + 4)));
}

TEST_F(UdevPropertiesTest, LeavesOutWhatNobodyCanUse) {
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
  EXPECT_EQ(Kept(""), "nothing") << "an empty value takes a property away";
}

TEST_F(UdevPropertiesTest, BearsLinesOfAnyKind) {
  fake_.Device(kCard, {.number = "240:7", .udev = {{"ID", "first"}}});
  tree_.File(std::string(kCard) + "/uevent", "\n\nno pair\n=nameless\nMAJOR=240\nMINOR=7\nEND=1");
  tree_.File("/run/udev/data/c240:7", "\nE\nE:\nE:=x\nE:LONELY\nX:A=B\nS:\nID=1\nE:ID=last\nE:A=B");
  EXPECT_THAT(Of(kCard), ElementsAre(Pair("A", "B"), Pair("DEVLINKS", "/dev/"),
                                     Pair("DEVPATH", kCard + 4), Pair("END", "1"),
                                     Pair("ID", "last"), Pair("MAJOR", "240"), Pair("MINOR", "7")));
}

TEST_F(UdevPropertiesTest, NoNumberLeadsOutOfTheDatabase) {
  tree_.File("/secret", "E:SECRET=1\n");
  tree_.Dir("/run/udev/data/c1:");
  fake_.Device(kCard,
               {.node = "card", .uevent = {{"MAJOR", "1"}, {"MINOR", "/../../../../secret"}}});
  EXPECT_THAT(Of(kCard), Not(Contains(Key("SECRET"))));
}

TEST_F(UdevPropertiesTest, ADeviceThatIsNotThereIsAnError) {
  const UdevProperties below(HostRoot(tree_.path())), here(HostRoot("/"));
  const auto directory = [](const char* path) {
    return HostNode{path, FileType::kDirectory, 0, 0};
  };
  for (const UdevProperties* properties : {&below, &here}) {
    EXPECT_EQ(properties->Of(directory(kCard)).error().kind, ErrorKind::kNotFound);
    EXPECT_EQ(properties->Of(directory("/sys/devices")).error().kind, ErrorKind::kNotFound);
    EXPECT_EQ(properties->Of(directory("/etc")).error().kind, ErrorKind::kInvalid);
    EXPECT_EQ(properties->Of(directory("/")).error().kind, ErrorKind::kInvalid);
  }
}

// All devices of this system, read by libudev and, through another name of the root, by us.
TEST(UdevPropertiesOfThisSystem, LibudevReadsTheSame) {
  const Sysfs library(HostRoot("/")), files(HostRoot("/proc/self/root"));
  const auto all = [](std::string_view) { return true; };
  const SysfsPaths found = library.Devices(all);
  if (found.paths.empty()) GTEST_SKIP() << "no devices here: " << found.errors.front().message;
  EXPECT_EQ(library.properties().HasDatabase(), files.properties().HasDatabase());
  const auto read = [](const Sysfs& sysfs, const std::string& path) {
    auto device = sysfs.Read(path);
    return device ? std::move(*device) : SysfsDevice{};
  };
  for (const std::string& path : found.paths) {
    SysfsDevice by_library, by_files;
    for (int i = 0; i < 10; ++i) {  // devices change meanwhile; not again and again
      by_library = read(library, path);
      by_files = read(files, path);
      if (by_library == by_files) break;
    }
    EXPECT_EQ(by_library.properties, by_files.properties) << path;
    EXPECT_EQ(by_library, by_files) << path;
  }
}

}  // namespace
}  // namespace patchbay
