#include "suggest/suggest.h"

#include <unistd.h>

#include "suggest_support.h"

namespace patchbay {
namespace {

using test::kXhci;
using test::WithoutComments;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class SuggestionsTest : public test::SuggestTest {
 protected:
  void Routes(const std::string& interface) {
    tree_.File(
        "/proc/1/net/route",
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n" +
            interface + "\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n");
    std::string interfaces = "Inter-|   Receive\n face |bytes    packets\n";
    for (const char number : std::string_view("0123456789")) {
      interfaces.append("  eth").append(1, number).append(": 0 0 0 0 0 0 0 0\n");
    }
    tree_.File("/proc/1/net/dev", interfaces + "   br0:7 0 0 0 0 0 0 0\n");
  }

  void Nic(const std::string& address, const std::string& name, int index) {
    const std::string path = "/sys/devices/pci0000:00/" + address;
    sysfs_.Device(path,
                  {.subsystem = "pci", .attributes = {{"vendor", "0x8086"}, {"device", "0x1533"}}});
    sysfs_.Device(path + "/net/" + name, {.subsystem = "net",
                                          .ifindex = std::to_string(index),
                                          .attributes = {{"type", "1"}},
                                          .uevent = {{"INTERFACE", name}}});
  }
};

TEST_F(SuggestionsTest, HostWithoutDevicesHasNone) {
  EXPECT_THAT(Suggested(), IsEmpty());
  test::TempTree empty;
  EXPECT_THAT(SuggestionsToml(Suggest(HostRoot(empty.path()))), IsEmpty());
}

TEST_F(SuggestionsTest, TextOfDevicesIsEscaped) {
  const std::string hostile = "\"]\n[[resource]]\nname = 'a/b' # \x1b[2J {usb_port} \\ ' */";
  Tty(Usb("1-1", "0403:6001", "A\"}#{x}*[0]\\'", {{"manufacturer", hostile}, {"product", hostile}}),
      0);
  sysfs_.Device("/sys/devices/virtual/tpmrm/tpmrm0",
                {.subsystem = "tpmrm",
                 .number = "253:0",
                 .udev = {{"ID_PATH", "a\" } }\\ [[resource]] {x} *"},
                          {"ID_MODEL_FROM_DATABASE", "\xe2\x80\xae # [[resource]]"}}});
  const std::string suggested = Suggested();
  const auto loaded = LoadTexts({{"suggested.toml", suggested}});
  ASSERT_TRUE(loaded.model) << suggested;
  EXPECT_TRUE(loaded.diagnostics.empty());
  EXPECT_EQ(loaded.model->resources.size(), 2u);
  EXPECT_THAT(suggested, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\xe2\x80\xae"))));
}

TEST_F(SuggestionsTest, DangerousDevicesAreComments) {
  sysfs_.Device("/sys/devices/platform", {});
  const std::string key = "/sys/devices/platform/i8042/input/input3";
  sysfs_.Device(key, {.subsystem = "input"});
  sysfs_.Device(key + "/event3",
                {.subsystem = "input", .number = "13:67", .node = "/dev/input/event3"});
  const std::string suggested = Suggested();
  EXPECT_THAT(suggested, HasSubstr("a comment because a container sees everything"));
  EXPECT_EQ(WithoutComments(suggested), "\n");
}

TEST_F(SuggestionsTest, ControlsOfTheMachineAreComments) {
  int minor = 0;
  for (const std::string path :
       {"mem/mem", "mem/port", "mem/kmsg", "tty/console", "tty/tty0", "tty/tty63", "graphics/fb0",
        "vc/vcs1", "misc/uinput", "misc/uhid", "misc/nvram", "misc/device-mapper", "misc/watchdog",
        "ipmi/ipmi0", "mmc_rpmb/mmcblk0rpmb", "misc/hpet"}) {
    const std::string syspath = "/sys/devices/virtual/" + path;
    sysfs_.Device(syspath, {.subsystem = path.substr(0, path.find('/')),
                            .number = "240:" + std::to_string(++minor)});
    EXPECT_EQ(WithoutComments(Suggested({syspath})) == "\n", path != "misc/hpet") << path;
  }
}

TEST_F(SuggestionsTest, AnotherNodeOfADeviceHasItsEntryAndDanger) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can create device nodes";
  sysfs_.Device("/sys/devices/virtual/mem/mem", {.subsystem = "mem", .number = "1:1"});
  sysfs_.Device("/sys/devices/virtual/misc/kvm", {.subsystem = "misc", .number = "10:232"});
  tree_.CharDevice("/dev/alias", 1, 1);
  tree_.BlockDevice("/dev/disk-alias", 8, 0);
  EXPECT_EQ(WithoutComments(Suggested({"/dev/mem"})), "\n");
  EXPECT_EQ(Suggested({"alias"}), Suggested({"mem"}));
  EXPECT_EQ(Suggested({"/sys/devices/virtual/mem/mem", "mem"}), Suggested({"mem"}));
  EXPECT_EQ(Suggested({"/sys/devices/virtual/misc/kvm"}), Suggested({"kvm"}));
  EXPECT_THAT(Suggested({"disk-alias"}), HasSubstr("a container can erase it"));
}

TEST_F(SuggestionsTest, RawNodesAreAsDangerousAsTheirDevice) {
  const std::string keyboard = Usb("1-1", "046d:c31c", "");
  sysfs_.Device(keyboard + "/input/input3/event3",
                {.subsystem = "input",
                 .number = "13:67",
                 .node = "/dev/input/event3",
                 .udev = {{"ID_INPUT", "1"}, {"ID_INPUT_KEYBOARD", "1"}}});
  sysfs_.Device(keyboard + "/hid/hidraw/hidraw1", {.subsystem = "hidraw", .number = "240:1"});
  const std::string disk = Usb("1-2", "1058:25a2", "") + "/host0/target0:0:0/0:0:0:0";
  sysfs_.Device(disk, {.subsystem = "scsi", .attributes = {{"type", "0"}}});
  sysfs_.Device(disk + "/block/sda", {.subsystem = "block", .devtype = "disk", .number = "8:0"});
  sysfs_.Device(disk + "/scsi_generic/sg0", {.subsystem = "scsi_generic", .number = "21:0"});
  sysfs_.Device(Usb("1-3", "0b95:7720", "") + "/net/eth0", {.subsystem = "net", .ifindex = "2"});
  Routes("eth0");
  Tty(Usb("1-4", "0403:6001", ""), 0);
  EXPECT_EQ(WithoutComments(Suggested()).find("hidraw"), std::string::npos);
  tree_.File("/proc/1/mountinfo", "28 1 8:0 / / rw - ext4 /dev/sda rw\n");
  if (geteuid() != 0) GTEST_SKIP() << "only root can create device nodes";
  for (unsigned minor : {1, 2, 3}) tree_.CharDevice("/dev/raw" + std::to_string(minor), 189, minor);
  for (const auto& [word, why] :
       {std::pair("raw1", "/dev/input/event3 is a part of it"),
        std::pair("hidraw1", "/dev/input/event3 is a part of it"),
        std::pair("raw2", "/dev/sda is a part of it"), std::pair("raw3", "eth0 is a part of it"),
        std::pair("sg0", "/dev/sda is a part of it")}) {
    EXPECT_THAT(Suggested({word}), HasSubstr(why)) << word;
    EXPECT_EQ(WithoutComments(Suggested({word})), "\n") << word;
  }
  EXPECT_NE(WithoutComments(Suggested({"ttyUSB0"})), "\n");
}

TEST_F(SuggestionsTest, ConsoleIsACommentNextToOtherPorts) {
  sysfs_.Device("/sys/devices/platform", {});
  for (const auto& [name, console] : {std::pair("ttyS0", "Y"), std::pair("ttyS1", "N")}) {
    const std::string port = std::string("/sys/devices/platform/") + name + ".serial";
    sysfs_.Device(port, {.subsystem = "platform"});
    sysfs_.Device(port + "/tty/" + name, {.subsystem = "tty",
                                          .number = std::string("4:6") + name[4],
                                          .attributes = {{"type", "4"}, {"console", console}}});
  }
  EXPECT_THAT(WithoutComments(Suggested()),
              AllOf(HasSubstr("ttyS1.serial"), Not(HasSubstr("ttyS0.serial"))));
}

TEST_F(SuggestionsTest, PortsThatTheKernelDidNotFindAreLeftOutOrComments) {
  sysfs_.Device("/sys/devices/platform", {});
  for (const std::string name : {"ttyS2", "ttyS3"}) {
    const std::string type = name == "ttyS2" ? "0" : "";
    sysfs_.Device("/sys/devices/platform/serial8250/tty/" + name,
                  {.subsystem = "tty",
                   .number = "4:6" + name.substr(4),
                   .attributes = type.empty() ? test::FakeDevice::Pairs()
                                              : test::FakeDevice::Pairs{{"type", type}}});
  }
  EXPECT_THAT(Suggested(), IsEmpty());
  EXPECT_EQ(WithoutComments(Suggested({"ttyS2"})), "\n");
}

TEST_F(SuggestionsTest, HubsAreComments) {
  sysfs_.Device(
      kXhci + "/usb1/1-1",
      {.subsystem = "usb",
       .devtype = "usb_device",
       .number = "189:2",
       .node = "hub",
       .attributes = {{"idVendor", "05e3"}, {"idProduct", "0610"}, {"bDeviceClass", "09"}}});
  Tty(Usb("1-1/1-1.1", "0403:6001", ""), 0);
  EXPECT_EQ(WithoutComments(Suggested({"1-1"})), "\n");
  EXPECT_NE(WithoutComments(Suggested({"ttyUSB0"})), "\n");
}

TEST_F(SuggestionsTest, OnlyKeyboardsAndMiceAreTypedOn) {
  sysfs_.Device("/sys/devices/LNXPWRBN:00", {.subsystem = "acpi"});
  for (const auto& [name, phys, kind] :
       {std::tuple("0", "LNXPWRBN/button/input0", "KEY"),
        std::tuple("1", "usb-1/input0", "JOYSTICK"), std::tuple("2", "usb-2/input0", "KEYBOARD"),
        std::tuple("3", "usb-3/input0", "MOUSE")}) {
    const std::string input = std::string("/sys/devices/LNXPWRBN:00/") + name + "/input" + name;
    sysfs_.Device(input, {.subsystem = "input", .attributes = {{"phys", phys}}});
    sysfs_.Device(input + "/event" + name,
                  {.subsystem = "input",
                   .number = std::string("13:6") + name,
                   .node = std::string("input/event") + name,
                   .udev = {{"ID_INPUT", "1"}, {std::string("ID_INPUT_") + kind, "1"}}});
  }
  const std::string all = Suggested();
  EXPECT_THAT(all, AllOf(Not(HasSubstr("event0")), HasSubstr("event2"), HasSubstr("event3")));
  EXPECT_THAT(WithoutComments(all),
              AllOf(HasSubstr("LNXPWRBN:00/1/"), Not(HasSubstr("LNXPWRBN:00/2/"))));
}

TEST_F(SuggestionsTest, NicThatTheHostUsesIsAComment) {
  Routes("eth0");
  const auto route = [](const std::string& destination, const std::string& interface) {
    return destination + std::string(32 - destination.size(), '0') +
           " 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 "
           "00000001 00000000 00000001 " +
           interface + "\n";
  };
  tree_.File("/proc/1/net/ipv6_route",
             route("fd", "eth1") + route("fe80", "eth6") + route("ff", "eth6"));
  const std::pair<const char*, const char*> kInterfaces[] = {
      {"eth0", ""},       {"eth1", ""},       {"eth2", "upper_bond0"},
      {"eth3", "master"}, {"eth4", "brport"}, {"eth5", "lower_x"},
      {"eth6", ""}};
  for (const auto& [name, link] : kInterfaces) {
    const std::string address = std::string("0000:00:0") + name[3] + ".0";
    Nic(address, name, 2 + name[3] - '0');
    if (*link == '\0') continue;
    tree_.Link("/sys/devices/pci0000:00/" + address + "/net/" + name + "/" + link, "../bond0");
  }
  const std::string all = Suggested();
  EXPECT_THAT(all, AllOf(HasSubstr("the default route of the host uses it"),
                         HasSubstr("the host has a route over it"),
                         HasSubstr("the host connects it with another interface")));
  for (const auto& [name, link] : kInterfaces) {
    const bool is_free = std::string_view(name) == "eth6";
    const std::string address = std::string("0000:00:0") + name[3];
    EXPECT_EQ(WithoutComments(all).find(address) != std::string::npos, is_free) << name;
    EXPECT_EQ(WithoutComments(Suggested({name})) != "\n", is_free) << name;
  }
}

TEST_F(SuggestionsTest, RdmaDeviceOfAnInterfaceThatTheHostUsesIsAComment) {
  Routes("eth0");
  for (const std::string number : {"0", "1"}) {
    Nic("0000:00:0" + number + ".0", "eth" + number, number == "0" ? 2 : 3);
    for (const std::string kind : {"infiniband_verbs/uverbs", "infiniband_mad/umad"}) {
      sysfs_.Device("/sys/devices/pci0000:00/0000:00:0" + number + ".0/" + kind + number,
                    {.subsystem = kind.substr(0, kind.find('/')),
                     .number = "231:" + std::to_string(++devices_)});
    }
  }
  EXPECT_THAT(Suggested({"uverbs0"}),
              HasSubstr("because eth0 is a part of it, and the default route of the host uses it"));
  for (const std::string kind : {"uverbs", "umad"}) {
    EXPECT_EQ(WithoutComments(Suggested({kind + "0"})), "\n") << kind;
    EXPECT_NE(WithoutComments(Suggested({kind + "1"})), "\n") << kind;
  }
}

TEST_F(SuggestionsTest, PhysicalFunctionWithVirtualFunctionsIsAComment) {
  Routes("eth9");
  for (const std::string number : {"0", "1"}) {
    const std::string path = "/sys/devices/pci0000:00/0000:00:0" + number + ".0";
    Nic("0000:00:0" + number + ".0", "eth" + number, number == "0" ? 2 : 3);
    tree_.File(path + "/sriov_numvfs", number == "0" ? "4\n" : "0\n");
    sysfs_.Device(path + "/infiniband_verbs/uverbs" + number,
                  {.subsystem = "infiniband_verbs", .number = "231:" + number});
    const std::string bound = "/sys/devices/pci0000:00/0000:00:1" + number + ".0";
    sysfs_.Device(bound, {.subsystem = "pci",
                          .driver = "vfio-pci",
                          .attributes = {{"sriov_numvfs", number == "0" ? "1" : "0"}}});
  }
  for (const std::string kind : {"eth", "uverbs", "0000:00:1"}) {
    const std::string end = kind.ends_with("1") ? ".0" : "";
    EXPECT_THAT(Suggested({kind + "0" + end}), HasSubstr("virtual functions"));
    EXPECT_EQ(WithoutComments(Suggested({kind + "0" + end})), "\n") << kind;
    EXPECT_NE(WithoutComments(Suggested({kind + "1" + end})), "\n") << kind;
  }
}

TEST_F(SuggestionsTest, InterfacesHaveANoteOfWhatPodsNeed) {
  Nic("0000:00:03.0", "eth0", 2);
  EXPECT_THAT(Suggested({"eth0"}), HasSubstr("hostNetwork: true"));
  Tty(Usb("1-1", "0403:6001", ""), 0);
  EXPECT_THAT(Suggested({"ttyUSB0"}), Not(HasSubstr("hostNetwork")));
}

TEST_F(SuggestionsTest, NicIsACommentIfRoutesAreNotVisible) {
  Nic("0000:00:03.0", "eth0", 2);
  EXPECT_EQ(WithoutComments(Suggested()), "\n");
  EXPECT_THAT(Suggested(), HasSubstr("its routes are not visible"));
  Routes("eth9");
  EXPECT_NE(WithoutComments(Suggested()), "\n");
  // PID 1 of a pod has other interfaces.
  tree_.File("/proc/1/net/dev", "Inter-|\n face |\n  eth9: 0 0\n");
  EXPECT_THAT(Suggested(), HasSubstr("its routes are not visible"));
}

TEST_F(SuggestionsTest, VirtualInterfacesAreLeftOut) {
  Routes("eth0");
  sysfs_.Device("/sys/devices/virtual/net/br0",
                {.subsystem = "net", .ifindex = "2", .attributes = {{"type", "1"}}});
  EXPECT_THAT(Suggested(), IsEmpty());
  sysfs_.Device("/sys/devices/virtual/net/eth0",
                {.subsystem = "net", .ifindex = "3", .attributes = {{"type", "1"}}});
  EXPECT_THAT(Suggested({"eth0"}), HasSubstr("the default route of the host uses it"));
  EXPECT_THAT(WithoutComments(Suggested({"br0"})), HasSubstr("/devices/virtual/net/br0"));
  sysfs_.Device("/sys/devices/virtual/net/vcan0",
                {.subsystem = "net", .ifindex = "4", .attributes = {{"type", "280"}}});
  EXPECT_THAT(Suggested({"vcan0"}), HasSubstr("example.com/can"));
  sysfs_.Device("/sys/devices/virtual/net/lo",
                {.subsystem = "net", .ifindex = "1", .attributes = {{"type", "772"}}});
  EXPECT_EQ(WithoutComments(Suggested({"lo"})), "\n");
}

TEST_F(SuggestionsTest, DisksInUseAreCounted) {
  for (const auto& [name, number] : {std::pair("sda", "8:0"), std::pair("sdb", "8:16")}) {
    sysfs_.Device(std::string("/sys/devices/virtual/block/") + name,
                  {.subsystem = "block",
                   .devtype = "disk",
                   .number = number,
                   .udev = {{"ID_SERIAL", std::string("WD_") + name}}});
  }
  tree_.File("/proc/1/mountinfo", "28 1 8:0 / / rw - ext4 /dev/sda rw\n");
  const Suggestions suggestions = Suggest(HostRoot(tree_.path()));
  EXPECT_EQ(suggestions.used_disks, 1u);
  const std::string toml = SuggestionsToml(suggestions);
  EXPECT_THAT(toml, AllOf(HasSubstr("WD_sdb"), Not(HasSubstr("WD_sda"))));
  EXPECT_EQ(WithoutComments(toml), "\n");
}

TEST_F(SuggestionsTest, DisksOfAnArrayAreLeftOut) {
  const std::string disk = "/sys/devices/virtual/block/sda";
  sysfs_.Device(disk, {.subsystem = "block", .devtype = "disk", .number = "8:0"});
  sysfs_.Device(disk + "/sda1", {.subsystem = "block",
                                 .devtype = "partition",
                                 .number = "8:1",
                                 .attributes = {{"partition", "1"}},
                                 .udev = {{"ID_FS_TYPE", "linux_raid_member"}}});
  EXPECT_EQ(Suggest(HostRoot(tree_.path())).used_disks, 1u);
  EXPECT_THAT(Suggested({"sda"}), HasSubstr("it has a part of an array or a volume"));
}

TEST_F(SuggestionsTest, DevicesThatCannotReplaceEachOtherHaveAComment) {
  const auto pool = HasSubstr("# Pods get any of these devices; give each its own resource");
  Tty(Usb("1-1", "0403:6001", "", {{"product", "FT232R"}}), 0);
  Tty(Usb("1-2", "0403:6001", "", {{"product", "FT232R"}}), 1);
  EXPECT_THAT(Suggested(), Not(pool));
  Tty(Usb("1-3", "10c4:ea60", "", {{"product", "CP2102"}}), 2);
  EXPECT_THAT(Suggested(), pool);
  EXPECT_THAT(Suggested({"1-3"}), Not(pool));
  tree_.Remove("/sys/devices/pci0000:00/0000:00:14.0/usb1/1-3");
  sysfs_.Device("/sys/devices/platform", {});
  for (const std::string number : {"0", "1"}) {
    sysfs_.Device("/sys/devices/platform/gpio" + number + "/gpiochip" + number,
                  {.subsystem = "gpio", .number = "254:" + number});
  }
  EXPECT_THAT(Suggested(), pool);
}

TEST_F(SuggestionsTest, OnlyDevicesThatCaptureAreCameras) {
  sysfs_.Device("/sys/devices/platform", {});
  for (const auto& [name, driver, capabilities] :
       {std::tuple("video0", "unicam", ":capture:"), std::tuple("video1", "other", ":"),
        std::tuple("v4l-subdev0", "ov5647", ""), std::tuple("video2", "bcm2835-isp", ":capture:"),
        std::tuple("video3", "rpivid", ":"), std::tuple("video4", "new", "")}) {
    const std::string above = std::string("/sys/devices/platform/") + driver;
    test::FakeDevice::Pairs udev;
    if (*capabilities != '\0') udev.emplace_back("ID_V4L_CAPABILITIES", capabilities);
    sysfs_.Device(above, {.subsystem = "platform", .driver = driver});
    sysfs_.Device(
        above + "/video4linux/" + name,
        {.subsystem = "video4linux", .number = "81:" + std::to_string(++devices_), .udev = udev});
  }
  EXPECT_THAT(Suggested(),
              AllOf(HasSubstr("source (/dev/video0)"), Not(HasSubstr("/dev/video1")),
                    Not(HasSubstr("subdev")), HasSubstr("processor (/dev/video2)"),
                    HasSubstr("codec (/dev/video3)"), HasSubstr("source (/dev/video4)")));
}

TEST_F(SuggestionsTest, NetworkAndKeyboardOfABmcAreLeftOut) {
  Routes("eth9");
  sysfs_.Device(Usb("1-1", "046b:ffb0", "", {{"product", "Virtual Ethernet."}}) + "/net/usb0",
                {.subsystem = "net", .ifindex = "2", .attributes = {{"type", "1"}}});
  EXPECT_THAT(Suggested(), IsEmpty());
  Tty(Usb("1-2", "0483:5740", "", {{"product", "STM32 Virtual ComPort"}}), 0);
  EXPECT_THAT(Suggested(), HasSubstr("ttyUSB0"));
}

TEST_F(SuggestionsTest, LinkThatSeveralDevicesRequestHasANote) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can create device nodes";
  Tty(Usb("1-1", "10c4:ea60", "0001"), 0);
  tree_.Link("/dev/serial/by-id/silabs", "../../ttyUSB0");
  EXPECT_THAT(Suggested({"silabs"}), Not(HasSubstr("request the link")));
  for (const std::string number : {"c188:0", "c188:1"}) {
    tree_.File("/run/udev/links/serial\\x2fby-id\\x2fsilabs/" + number);
  }
  EXPECT_THAT(
      Suggested({"silabs"}),
      HasSubstr("# 2 devices request the link /dev/serial/by-id/silabs; now /dev/ttyUSB0 has it."));
}

TEST_F(SuggestionsTest, VirtualMediaAreLeftOut) {
  const std::string drive = Usb("1-1", "046b:ff20", "AAAABBBB", {{"product", "Virtual Cdrom"}}) +
                            "/host7/target7:0:0/7:0:0:0";
  sysfs_.Device(drive, {.subsystem = "scsi", .attributes = {{"type", "5"}}});
  sysfs_.Device(drive + "/block/sr0", {.subsystem = "block", .devtype = "disk", .number = "11:0"});
  EXPECT_THAT(Suggested(), IsEmpty());
  EXPECT_THAT(WithoutComments(Suggested({"sr0"})), HasSubstr("[[resource.match]]"));
}

TEST_F(SuggestionsTest, OpticalDrivesAreMatchedByTheirOwnSerialNumber) {
  const std::string sata = "/sys/devices/pci0000:00/0000:00:17.0";
  sysfs_.Device(sata, {.subsystem = "pci",
                       .attributes = {{"vendor", "0x8086"}, {"device", "0x7ae2"}},
                       .udev = {{"ID_MODEL_FROM_DATABASE", "SATA Controller"}}});
  for (const std::string number : {"0", "1"}) {
    const std::string drive = sata + "/ata" + number + "/host" + number;
    sysfs_.Device(drive, {.subsystem = "scsi", .attributes = {{"type", "5"}}});
    sysfs_.Device(drive + "/block/sr" + number,
                  {.subsystem = "block",
                   .devtype = "disk",
                   .number = "11:" + number,
                   .udev = {{"ID_SERIAL", "HL-DT-ST_" + number}, {"ID_MODEL", "DVDRAM"}}});
  }
  const std::string active = WithoutComments(Suggested());
  EXPECT_THAT(active,
              AllOf(HasSubstr("HL-DT-ST_0"), HasSubstr("HL-DT-ST_1"), Not(HasSubstr("8086:7ae2"))));
  EXPECT_THAT(Suggested({"sr0"}), AllOf(HasSubstr("optical drive: DVDRAM (/dev/sr0)"),
                                        HasSubstr("ID_SERIAL = \"HL-DT-ST_0\"")));
}

TEST_F(SuggestionsTest, PortsOfAModemAreOneDevice) {
  const auto add = [&](const std::string& port, const std::string& driver, int number) {
    const std::string interface = Usb(port, "1e0e:9001", "");
    const std::string name = "/ttyUSB" + std::to_string(number);
    sysfs_.Device(interface + name, {.subsystem = "usb-serial", .driver = driver});
    Tty(interface, number);
    return kXhci + "/usb1/" + port + "/" + port;
  };
  const std::string modem = add("1-1", "option1", 0);
  sysfs_.Device(modem + ":1.1", {.subsystem = "usb", .driver = "cdc_acm"});
  sysfs_.Device(modem + ":1.1/tty/ttyACM0", {.subsystem = "tty", .number = "166:0"});
  sysfs_.Device(modem + ":1.2", {.subsystem = "usb", .driver = "cdc_mbim"});
  sysfs_.Device(modem + ":1.2/usbmisc/cdc-wdm0", {.subsystem = "usbmisc", .number = "180:0"});
  add("1-2", "qcserial", 1);
  add("1-3", "cp210x", 2);
  const std::string suggested = Suggested();
  EXPECT_THAT(suggested, AllOf(HasSubstr("modem (/dev/ttyUSB0, /dev/cdc-wdm0, /dev/ttyACM0)"),
                               HasSubstr("modem (/dev/ttyUSB1)"),
                               HasSubstr("serial adapter (/dev/ttyUSB2)"), HasSubstr(R"(
  usb = "1e0e:9001"
  usb_port = "*-1"
  pci_address = "0000:00:14.0"
  udev = { subsystem = "{tty,usbmisc,wwan}" }
)")));
  EXPECT_EQ(suggested.find("/serial\""), suggested.rfind("/serial\""));
}

TEST_F(SuggestionsTest, MakerIsNotRepeated) {
  Tty(Usb("1-1", "1e0e:9001", "", {{"manufacturer", "SimTech "}, {"product", "SimTech Modem"}}), 0);
  EXPECT_THAT(Suggested(), HasSubstr("adapter: SimTech Modem (/dev/ttyUSB0)"));
}

TEST_F(SuggestionsTest, BootAreasOfAnEmmcAreNotPartOfItsDisk) {
  sysfs_.Device("/sys/devices/platform", {});
  const std::string disk = "/sys/devices/platform/emmc/block/mmcblk0";
  for (const auto& [path, number] :
       {std::pair(disk, "179:0"), std::pair(disk + "/mmcblk0boot0", "179:8")}) {
    sysfs_.Device(path, {.subsystem = "block",
                         .devtype = "disk",
                         .number = number,
                         .udev = {{"ID_SERIAL", "0x1c5d7e90"}}});
  }
  EXPECT_THAT(Suggested(), AllOf(HasSubstr(R"(DEVNAME = "/dev/mmcblk{[0-9],[0-9][0-9]}")"),
                                 Not(HasSubstr("boot0"))));
  EXPECT_THAT(Suggested({"mmcblk0boot0"}), HasSubstr("[0-9][0-9]}boot0"));
}

TEST_F(SuggestionsTest, RenderNodeOfTheConsoleIsOffered) {
  const std::string gpu = "/sys/devices/pci0000:00/0000:00:02.0";
  sysfs_.Device(gpu,
                {.subsystem = "pci",
                 .attributes = {{"vendor", "0x8086"}, {"device", "0x46a6"}, {"boot_vga", "1"}}});
  sysfs_.Device(gpu + "/drm/card0", {.subsystem = "drm", .number = "226:0", .node = "dri/card0"});
  EXPECT_EQ(WithoutComments(Suggested()), "\n");
  sysfs_.Device(gpu + "/drm/renderD128",
                {.subsystem = "drm", .number = "226:128", .node = "dri/renderD128"});
  EXPECT_THAT(WithoutComments(Suggested()), HasSubstr(R"(DEVNAME = "/dev/dri/renderD*")"));
  EXPECT_EQ(WithoutComments(Suggested({"dri/card0"})), "\n");
}

TEST_F(SuggestionsTest, CardsWithoutSysfsAreMatchedByNumber) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can create device nodes";
  for (unsigned number = 0; number < 2; ++number) {
    tree_.CharDevice("/dev/nvidia" + std::to_string(number), 195, number);
    tree_.CharDevice("/dev/xdma" + std::to_string(number) + "_user", 240, number);
  }
  EXPECT_THAT(Suggested(), AllOf(HasSubstr(R"(regex = '/dev/nvidia(?P<gpu>\d+)')"),
                                 HasSubstr(R"(regex = '/dev/xdma(?P<xdma>\d+)_.*')")));
  EXPECT_THAT(WithoutComments(Suggested({"nvidia1"})),
              HasSubstr(R"x(regex = "/dev/nvidia(?P<gpu>1)")x"));
}

TEST_F(SuggestionsTest, NvidiaCardIsThereOnceWithTheNodesOfItsDriver) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can create device nodes";
  const std::string card = "/sys/devices/pci0000:00/0000:01:00.0";
  sysfs_.Device(card, {.subsystem = "pci",
                       .driver = "nvidia",
                       .attributes = {{"vendor", "0x10de"}, {"device", "0x2484"}}});
  sysfs_.Device(card + "/drm/renderD128",
                {.subsystem = "drm", .number = "226:128", .node = "dri/renderD128"});
  for (unsigned minor : {0, 1}) {
    tree_.CharDevice("/dev/nvidia" + std::to_string(minor), 195, minor);
  }
  tree_.File("/proc/driver/nvidia/gpus/0000:01:00.0/information",
             "Model: \t NVIDIA\nDevice Minor: \t 1\nGPU Excluded:\t No\n");
  EXPECT_THAT(Suggested(), AllOf(HasSubstr("example.com/nvidia"), Not(HasSubstr("/gpu\""))));
  EXPECT_EQ(Suggested({"/sys/bus/pci/devices/0000:01:00.0"}), Suggested({"nvidia1"}));
  EXPECT_THAT(Suggested({"10de:2484"}),
              AllOf(HasSubstr("(/dev/nvidia1)"), HasSubstr("/dev/nvidiactl")));
  EXPECT_THAT(Suggested({"dri/renderD128"}), HasSubstr("(/dev/dri/renderD128)"));
  tree_.CharDevice("/dev/nvidiactl", 195, 255);
  EXPECT_THAT(Suggested({"nvidiactl"}), HasSubstr("useless without an NVIDIA GPU"));
}

TEST_F(SuggestionsTest, DriversDecideWhatADrmDeviceIs) {
  sysfs_.Device("/sys/devices/platform", {});
  const std::string fpga = "/sys/devices/pci0000:00/0000:86:00.1";
  sysfs_.Device(fpga, {.subsystem = "pci", .driver = "xocl"});
  sysfs_.Device(fpga + "/drm/renderD128",
                {.subsystem = "drm", .number = "226:128", .node = "dri/renderD128"});
  sysfs_.Device(fpga + "/xrt_user/xfpga", {.subsystem = "xrt_user", .number = "235:0"});
  const std::string display = "/sys/devices/platform/display-subsystem";
  sysfs_.Device(display, {.subsystem = "platform", .driver = "rockchip-drm"});
  sysfs_.Device(display + "/drm/card0",
                {.subsystem = "drm", .number = "226:0", .node = "dri/card0"});
  sysfs_.Device("/sys/devices/platform/fb000000.gpu", {.subsystem = "platform", .driver = "mali"});
  sysfs_.Device("/sys/devices/platform/fb000000.gpu/misc/mali0",
                {.subsystem = "misc", .number = "10:121"});
  EXPECT_THAT(Suggested(),
              AllOf(HasSubstr("FPGA (/dev/dri/renderD128, /dev/xfpga)"),
                    HasSubstr("display (/dev/dri/card0)"), HasSubstr("GPU (/dev/mali0)")));
}

TEST_F(SuggestionsTest, CardOfTwoResourcesHasAComment) {
  Routes("eth9");
  Nic("0000:00:03.0", "eth0", 2);
  EXPECT_THAT(Suggested(), Not(HasSubstr("same card")));
  sysfs_.Device("/sys/devices/pci0000:00/0000:00:03.0/infiniband_verbs/uverbs0",
                {.subsystem = "infiniband_verbs", .number = "231:192"});
  EXPECT_THAT(Suggested(), HasSubstr("The resource nic can have the same card"));
}

TEST_F(SuggestionsTest, ServedDevicesAreLeftOutOrComments) {
  Routes("eth1");
  Tty(Usb("1-1", "0403:6001", "A9007YHT"), 0);
  Nic("0000:00:03.0", "eth0", 2);
  const ServedNodes served = {
      {KeyOf({.path = "", .real_path = "", .type = FileType::kCharacter, .major = 188}),
       "lab.example.com/a"},
      {NodeKey{0, "/sys/class/net/eth0"}, "lab.example.com/b"}};
  const std::string all = SuggestionsToml(Suggest(HostRoot(tree_.path()), {.served = served}));
  EXPECT_EQ(WithoutComments(all), "");
  EXPECT_THAT(all, AllOf(HasSubstr("# already served by lab.example.com/a: 1 device\n"),
                         HasSubstr("# already served by lab.example.com/b: 1 device\n")));
  const Suggestions one =
      Suggest(HostRoot(tree_.path()), {.devices = {"ttyUSB0"}, .served = served});
  EXPECT_EQ(one.list.at(0).served_by, "lab.example.com/a");
  EXPECT_EQ(WithoutComments(SuggestionsToml(one)), "\n");
}

TEST_F(SuggestionsTest, DeviceOfUnknownKindHasAnEntry) {
  sysfs_.Device(Usb("1-1", "1234:5678", "") + "/gizmo/gizmo0",
                {.subsystem = "gizmo", .number = "250:0"});
  EXPECT_THAT(Suggested(), IsEmpty());
  EXPECT_THAT(Suggested({"1234:5678"}), HasSubstr(R"(
  usb = "1234:5678"
  udev = { subsystem = "gizmo" }
)"));
  EXPECT_THAT(Suggested({"0000:00:14.0"}),
              AllOf(HasSubstr("it has no node"), HasSubstr(R"(udev = { subsystem = "pci" })")));
  EXPECT_EQ(WithoutComments(Suggested({"0000:00:14.0"})), "\n");
}

TEST_F(SuggestionsTest, WordThatNamesNoDeviceHasSimilarOnes) {
  Tty(Usb("1-1", "0403:6001", "A9007YHT"), 0);
  const Suggestions suggestions =
      Suggest(HostRoot(tree_.path()), {.devices = {"ttyUSB7", "0403:6002", "/sys"}});
  ASSERT_EQ(suggestions.unknown.size(), 3u);
  EXPECT_THAT(suggestions.unknown[0].similar, testing::ElementsAre("ttyUSB0"));
  EXPECT_THAT(suggestions.unknown[1].similar, testing::ElementsAre("0403:6001"));
  EXPECT_EQ(suggestions.unknown[2].why, "it is a directory");
  tree_.Link("/dev/serial/by-id/ftdi", "../../ttyUSB7");
  const Suggestions listed = Suggest(HostRoot(tree_.path()), {.devices = {"/dev/serial/by-id"}});
  EXPECT_THAT(listed.unknown.at(0).similar, testing::ElementsAre("/dev/serial/by-id/ftdi"));
}

TEST_F(SuggestionsTest, KindsProductsAndShortAddressesAreSimilar) {
  Tty(Usb("1-1", "10c4:ea60", "", {{"product", "CP2102 Bridge"}}), 0);
  sysfs_.Device("/sys/devices/pci0003:30/0003:31:00.0", {.subsystem = "pci"});
  const Suggestions suggestions = Suggest(
      HostRoot(tree_.path()), {.devices = {"cp2102", "serial", "31:00.0", "gpu", "a\x1b[2J"}});
  ASSERT_EQ(suggestions.unknown.size(), 5u);
  EXPECT_EQ(suggestions.unknown[0].similar, std::vector<std::string>{"/dev/ttyUSB0"});
  EXPECT_EQ(suggestions.unknown[1].similar, std::vector<std::string>{"/dev/ttyUSB0"});
  EXPECT_EQ(suggestions.unknown[2].similar.at(0), "0003:31:00.0");
  EXPECT_THAT(suggestions.unknown[3].similar, IsEmpty());
}

TEST_F(SuggestionsTest, RelativePathsAndPathsInSysfsNameDevices) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can create device nodes";
  Tty(Usb("1-1", "0403:6001", "A9007YHT"), 0);
  tree_.Link("/dev/serial/by-id/ftdi", "../../ttyUSB0");
  const std::string suggested = Suggested({"/dev/ttyUSB0"});
  tree_.CharDevice("/dev/bus/usb/001/007", 189, 1);
  for (const char* word :
       {"ftdi", "001/007", "by-id/ftdi", "../../dev/ttyUSB0", "serial/by-id/ftdi", "0403:6001",
        "/sys/class/tty/ttyUSB0", "/sys/bus/usb/devices/1-1"}) {
    const SuggestRequest request{.devices = {word}, .directory = "/dev/serial"};
    EXPECT_EQ(SuggestionsToml(Suggest(HostRoot(tree_.path()), request)), suggested) << word;
  }
}

TEST_F(SuggestionsTest, SharedNodesThatExistAreOneDevice) {
  tree_.File("/dev/kvm");
  tree_.File("/dev/vhost-net");
  tree_.File("/dev/vhost-vsock");
  EXPECT_THAT(Suggested(), AllOf(HasSubstr(R"(
name = "example.com/kvm"
replicas = 20
)"),
                                 HasSubstr(R"(
  path = ["/dev/vhost-net", "/dev/vhost-vsock"]
  together = true
)")));
  EXPECT_THAT(Suggested(), Not(HasSubstr("/dev/fuse")));
}

TEST_F(SuggestionsTest, OutputForManyDevicesIsLimited) {
  for (int i = 0; i < 150; ++i) Tty(Usb("1-" + std::to_string(i + 1), "0403:6001", ""), i);
  const std::string suggested = Suggested();
  EXPECT_THAT(suggested, HasSubstr("50 more devices of this kind are left out."));
  EXPECT_LT(suggested.size(), 60'000u);
  const std::string named = Suggested({"0403:6001"});
  EXPECT_THAT(named, HasSubstr("50 more devices of this kind are left out."));
  EXPECT_LT(named.size(), 60'000u);
}

}  // namespace
}  // namespace patchbay
