#include "suggest/suggest.h"

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
  EXPECT_THAT(Suggest(HostRoot(empty.path())).toml, IsEmpty());
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

TEST_F(SuggestionsTest, NicOfTheDefaultRouteIsAComment) {
  Routes("eth0");
  Nic("0000:00:03.0", "eth0", 2);
  Nic("0000:00:04.0", "eth1", 3);
  Nic("0000:00:05.0", "eth2", 4);
  tree_.Link("/sys/devices/pci0000:00/0000:00:05.0/net/eth2/upper_bond0", "../bond0");
  EXPECT_THAT(Suggested(), AllOf(HasSubstr("the default route of the host uses it"),
                                 HasSubstr("another interface of the host uses it")));
  EXPECT_THAT(WithoutComments(Suggested()),
              AllOf(HasSubstr("0000:00:04.0"), Not(HasSubstr("0000:00:03.0")),
                    Not(HasSubstr("0000:00:05.0"))));
}

TEST_F(SuggestionsTest, NicIsACommentIfRoutesAreNotVisible) {
  Nic("0000:00:03.0", "eth0", 2);
  EXPECT_EQ(WithoutComments(Suggested()), "\n");
  EXPECT_THAT(Suggested(), HasSubstr("its routes are not visible"));
}

TEST_F(SuggestionsTest, VirtualInterfacesAreLeftOut) {
  Routes("eth0");
  sysfs_.Device("/sys/devices/virtual/net/br0",
                {.subsystem = "net", .ifindex = "2", .attributes = {{"type", "1"}}});
  EXPECT_THAT(Suggested(), IsEmpty());
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
  EXPECT_THAT(suggestions.toml, AllOf(HasSubstr("WD_sdb"), Not(HasSubstr("WD_sda"))));
  EXPECT_EQ(WithoutComments(suggestions.toml), "\n");
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
}

}  // namespace
}  // namespace patchbay
