// The answers of `explain --path`.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "explain_support.h"
#include "support/fake_sysfs.h"

namespace patchbay {
namespace {

using test::Ran;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kNothing = "the path does not exist";

class ExplainPathTest : public test::ExplainTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  }

  /// A serial adapter with its USB device, interface and tty.
  void Adapter(const std::string& port, const std::string& vendor, const std::string& minor) {
    const std::string usb = "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-" + port;
    const std::string interface = usb + "/1-" + port + ":1.0";
    sysfs_.Device(
        usb, {.subsystem = "usb",
              .devtype = "usb_device",
              .number = "189:" + port,
              .node = "bus/usb/001/00" + port,
              .attributes = {{"idVendor", vendor}, {"idProduct", "6001"}, {"serial", "A" + port}}});
    sysfs_.Device(interface, {.subsystem = "usb", .devtype = "usb_interface"});
    sysfs_.Device(interface + "/tty/ttyUSB" + minor,
                  {.subsystem = "tty", .number = "188:" + minor});
  }
  void Card() {
    sysfs_.Device("/sys/devices/pci0000:00/0000:00:05.0",
                  {.subsystem = "pci", .attributes = {{"vendor", "0x1002"}, {"device", "0x73bf"}}});
    sysfs_.Device("/sys/devices/pci0000:00/0000:00:05.0/drm/card0",
                  {.subsystem = "drm", .number = "226:0", .node = "dri/card0"});
  }
  std::string Explained(const std::string& path) {
    const Ran ran = Explain({"--path", path});
    EXPECT_EQ(ran.code, kOk) << ran.err;
    return ran.out;
  }
  /// The outcomes of the first match.
  nlohmann::json Outcomes(const std::string& path) {
    const auto json = nlohmann::json::parse(Explain({"--path", path, "--output", "json"}).out);
    return json.at("resources").at(0).at("matches").at(0).at("outcomes");
  }

  test::FakeSysfs sysfs_{tree_};
};

TEST_F(ExplainPathTest, PrintsTheOutcomeOfAFile) {
  Match("path = '/srv/card*'\nexclude = '/srv/card9'\ntype = 'file'");
  tree_.File("srv/card1");
  tree_.File("srv/card9");
  EXPECT_THAT(Explained("/srv/card1"), HasSubstr("listed     card1: /srv/card1\n"));
  EXPECT_THAT(Explained("/srv/card9"), HasSubstr("filtered   /srv/card9: it is excluded by"));
  EXPECT_THAT(Explained("/srv/other"),
              AllOf(StartsWith("/srv/other: cannot access /srv/other: No such file or directory\n"),
                    HasSubstr("filtered   /srv/other: the pattern does not match it\n")));
  EXPECT_THAT(Explained("/srv/card3"),
              AllOf(HasSubstr("filtered   /srv/card3: the path does not exist"),
                    Not(HasSubstr("listed     ")), Not(HasSubstr("NUMA"))));
}

TEST_F(ExplainPathTest, ReportsNodesOfOtherVendors) {
  Adapter("1", "1a86", "0");
  Match("usb = '0403:6001'");
  for (const char* path :
       {"/dev/ttyUSB0", "/dev/ttyUSB0/", "/dev//./ttyUSB0", "/sys/bus/usb/devices/1-1",
        "/sys/class/tty/ttyUSB0", "1-1", "ttyUSB0", "1-1:1.0", "/dev/bus/usb/001/001"}) {
    EXPECT_THAT(Explained(path), AllOf(HasSubstr("USB device 1a86:6001 at port 1-1 with serial "
                                                 "number A1"),
                                       HasSubstr("its USB ID is 1a86:6001, not 0403:6001\n"),
                                       Not(HasSubstr(kNothing))))
        << path;
  }
  EXPECT_EQ(Outcomes("/dev/ttyUSB0").at(0).at("reason"), "other_kind");
  EXPECT_THAT(Explained("/dev/ttyUSB0"),
              StartsWith("/dev/ttyUSB0: a character device, of the USB"));
  EXPECT_THAT(Explained("1-1"), HasSubstr("usb1/1-1, the USB device"));
  Match("usb = '1a86:6001'\nserial = 'B*'");
  EXPECT_THAT(Explained("/dev/ttyUSB0"), HasSubstr("its serial number is \"A1\", not B*\n"));
  EXPECT_EQ(Outcomes("/dev/ttyUSB0").at(0).at("reason"), "condition");
  Match("udev = { subsystem = 'net' }");
  EXPECT_THAT(Explained("/dev/ttyUSB0"), HasSubstr("its subsystem is \"tty\", not net\n"));
  Match("pci = '10ee:*'");
  EXPECT_THAT(Explained("/dev/ttyUSB0"), HasSubstr("it is not a PCI device, nor a child of one\n"));
}

TEST_F(ExplainPathTest, ReportsTheConditionThatDoesNotMatch) {
  Adapter("1", "0403", "0");
  Match("usb = '0403:6001'\nudev = { driver = 'cdc_acm' }");
  EXPECT_THAT(Explained("/dev/ttyUSB0"), HasSubstr("has the driver cdc_acm\n"));
  Match("path = '/dev/ttyUSB*'\nusb = '1a86:*'");
  EXPECT_THAT(Explained("ttyUSB0"), HasSubstr("its USB ID is 0403:"));
  Match("path = '/dev/ttyACM*'\nusb = '1a86:*'");
  EXPECT_THAT(Explained("/dev/ttyUSB0"), HasSubstr("the pattern does not match it\n"));
  EXPECT_EQ(Outcomes("/dev/ttyUSB0").at(0).at("reason"), "no_match");
}

TEST_F(ExplainPathTest, NamesTheReasonForANodeThatThePatternMatches) {
  for (const char* node : {"dev/x1", "dev/x2", "dev/x3", "dev/x4"}) tree_.CharDevice(node);
  tree_.File("dev/x5");
  tree_.Link("dev/by-id/system", "../x1");
  sysfs_.Device("/sys/devices/pci0/xsda",
                {.subsystem = "block", .devtype = "disk", .number = "8:0"});
  tree_.File("proc/1/mountinfo", "28 1 8:0 / /data rw - ext4 /dev/xsda rw\n");
  Config(R"([[resource]]
name = "a.com/x"
match = [{ path = "/dev/x*", exclude = "/dev/by-id/*", max_devices = 1 }]
[[resource]]
name = "a.com/y"
exclusive = true
match = [{ path = "/dev/x2" }]
)");
  EXPECT_THAT(Explained("/dev/x1"),
              HasSubstr("filtered   /dev/x1: it is excluded by /dev/by-id/*, as /dev/by-id/system "
                        "is a link to the same node\n"));
  EXPECT_THAT(Explained("/dev/x2"),
              AllOf(HasSubstr("rejected   /dev/x2: taken: /dev/x2 belongs to a.com/y, which is"),
                    HasSubstr("listed     x2: /dev/x2\n"), Not(HasSubstr("shared"))));
  EXPECT_THAT(Explained("/dev/x3"), HasSubstr("listed     x3: /dev/x3\n"));
  EXPECT_THAT(Explained("/dev/x4"),
              HasSubstr("rejected   /dev/x4: limit: max_devices of the match is 1"));
  EXPECT_THAT(Explained("/dev/x5"), HasSubstr("filtered   /dev/x5: it is a regular file, and"));
  EXPECT_THAT(Explained("/dev/xsda"),
              HasSubstr("rejected   /dev/xsda: mounted: it is mounted at /data;"));
}

TEST_F(ExplainPathTest, FindsListedDevicesByAllTheirNames) {
  Adapter("1", "0403", "0");
  Card();
  sysfs_.Device("/sys/devices/virtual/net/can0", {.subsystem = "net", .ifindex = "4"});
  Match("usb = '0403:6001'");
  for (const char* path : {"/dev/ttyUSB0", "/dev/bus/usb/001/001", "0403:6001-A1", "1-1",
                           "/sys/bus/usb/devices/1-1", "/sys/class/tty/ttyUSB0/"}) {
    EXPECT_THAT(Explained(path), HasSubstr("listed     0403:6001-A1: /dev/bus/usb/001/001, "
                                           "/dev/ttyUSB0\n"))
        << path;
  }
  EXPECT_THAT(Explained("1-1:1.0"), HasSubstr("listed     0403:6001-A1: "))
      << "it is part of the device";
  Match("udev = { subsystem = 'net' }");
  for (const char* path : {"can0", "/sys/class/net/can0"})
    EXPECT_THAT(Explained(path), HasSubstr("listed     can0\n"));
  Match("pci = '1002:*'");
  for (const char* path : {"0000:00:05.0", "/dev/dri/card0", "card0"})
    EXPECT_THAT(Explained(path), HasSubstr("listed     0000:00:05.0: /dev/dri/card0\n"));
  Config("[[resource]]\nname = 'a.com/x'\nreplicas = 2\n[[resource.match]]\ncount = 2\n");
  for (const char* id : {"1", "1::0"})
    EXPECT_THAT(Explained(id), HasSubstr("listed     1\n")) << id;
  Match("count = 2\n[[resource.match]]\nregex = '/dev/x'");
  EXPECT_THAT(Explained("0"), HasSubstr("filtered   0: the pattern does not match it\n"));
  Match("count = 2\n[[resource.match]]\nusb = '*:*'");
  EXPECT_THAT(Explained("0"), HasSubstr("filtered   0: sysfs has no such device\n"));
}

TEST_F(ExplainPathTest, FollowsLinksToListedDevices) {
  Adapter("1", "0403", "0");
  tree_.Link("dev/serial/by-id/ftdi", "../../ttyUSB0");
  Match("path = '/dev/serial/by-id/*'");
  EXPECT_THAT(Explained("/dev/ttyUSB0"), HasSubstr("listed     ftdi: /dev/serial/by-id/ftdi\n"));
  EXPECT_THAT(Explained("/dev/serial/by-id/ftdi"),
              AllOf(StartsWith("/dev/serial/by-id/ftdi: it leads to /dev/ttyUSB0, a character "
                               "device, of the USB device"),
                    HasSubstr("listed     ftdi: /dev/serial/by-id/ftdi\n")));
  Match("path = '/dev/ttyUSB*'");
  EXPECT_THAT(Explained("/dev/serial/by-id/ftdi"), HasSubstr("listed     ttyUSB0: /dev/ttyUSB0\n"));
  Match("path = '/dev/serial/by-id/*'\nexclude = '/dev/serial/by-id/ftdi'");
  EXPECT_THAT(Explained("/dev/ttyUSB0"), HasSubstr("/dev/serial/by-id/ftdi: it is excluded by"));
  tree_.Link("dev/serial/by-id/gone", "../../ttyUSB9");
  EXPECT_THAT(Explained("/dev/serial/by-id/gone"),
              AllOf(StartsWith("/dev/serial/by-id/gone: cannot access /dev/ttyUSB9: No such file"),
                    HasSubstr("rejected   /dev/serial/by-id/gone: dangling_link: ")));
}

TEST_F(ExplainPathTest, VfioNodeHasTheReasonOfItsFunction) {
  const std::string card = "/sys/devices/pci0000:3a/0000:3b:00.1";
  const std::string function = "/sys/devices/pci0000:3a/0000:3b:11.0";
  sysfs_.Device(card, {.subsystem = "pci", .driver = "ice"});
  sysfs_.Device(function, {.subsystem = "pci",
                           .driver = "vfio-pci",
                           .attributes = {{"vendor", "0x8086"}, {"device", "0x1889"}}});
  tree_.Link(function + "/physfn", "../0000:3b:00.1");
  tree_.Dir("/sys/kernel/iommu_groups/63/devices");
  tree_.Link(function + "/iommu_group", "../../../kernel/iommu_groups/63");
  tree_.Link("/sys/kernel/iommu_groups/63/devices/0000:3b:11.0",
             "../../../../devices/pci0000:3a/0000:3b:11.0");
  sysfs_.Device("/sys/devices/virtual/vfio/63",
                {.subsystem = "vfio", .number = "243:0", .node = "vfio/63"});
  Match("pci = '8086:1889'\nudev = { attributes = { physfn = '0000:3b:00.0' } }");
  EXPECT_THAT(Explained("/dev/vfio/63"),
              AllOf(StartsWith("/dev/vfio/63: a character device, of the PCI device 8086:1889 at "
                               "0000:3b:11.0\n"),
                    HasSubstr("filtered   0000:3b:11.0: "),
                    HasSubstr("its attribute physfn is \"0000:3b:00.1\", not 0000:3b:00.0\n")));
  Match("path = '/dev/vfio/7*'");
  EXPECT_THAT(Explained("/dev/vfio/63"),
              HasSubstr("filtered   /dev/vfio/63: the pattern does not match it\n"));
}

TEST_F(ExplainPathTest, ReportsMissingSysMount) {
  tree_.CharDevice("dev/ttyUSB0", 188, 0);
  tree_.CharDevice("dev/ttyUSB1", 188, 1);
  for (const char* keys : {"path = '/dev/ttyUSB*'\nusb = '0403:6001'", "usb = '0403:6001'"}) {
    Match(keys);
    tree_.Remove("sys");
    const auto unreadable = AllOf(HasSubstr("rejected   /sys: unreadable: "),
                                  HasSubstr("mount the host's /sys at " + tree_.path("sys") + "\n"),
                                  Not(HasSubstr(kNothing)));
    EXPECT_THAT(Explained("/dev/ttyUSB1"), unreadable);
    tree_.Dir("sys");
    EXPECT_THAT(Explained("/dev/ttyUSB1"), unreadable)
        << "an empty directory is like a missing one";
    EXPECT_EQ(Outcomes("/dev/ttyUSB1").at(0).at("reason"), "unreadable");
  }
}

TEST_F(ExplainPathTest, ReportsUnreadableDirectories) {
  tree_.CharDevice("dev/snd/controlC0", 116, 0);
  chmod(tree_.path("dev/snd").c_str(), 0700);
  const auto may_not =
      AllOf(HasSubstr("rejected   /dev/snd/controlC0: unreadable: cannot access "
                      "/dev/snd/controlC0: Permission denied; allow this user to read /dev/snd, "),
            Not(HasSubstr(kNothing)));
  for (const char* keys : {"path = '/dev/snd/*'", "usb = '0d8c:*'"}) {
    Match(keys);
    EXPECT_THAT(ExplainUnprivileged({"--path", "/dev/snd/controlC0"}).out, may_not) << keys;
  }
  // Only sysfs identifies the device.
  sysfs_.Device(
      "/sys/devices/usb1/1-1",
      {.subsystem = "usb", .devtype = "usb_device", .attributes = {{"idVendor", "0d8c"}}});
  sysfs_.Device("/sys/devices/usb1/1-1/sound/controlC0",
                {.subsystem = "sound", .number = "116:1", .node = "snd/controlC1"});
  EXPECT_THAT(ExplainUnprivileged({"--path", "controlC0"}).out,
              AllOf(HasSubstr("/dev/snd/controlC1: unreadable: "), HasSubstr("read /dev/snd,")));
}

TEST_F(ExplainPathTest, PrintsOneOutcomePerGroupedDevice) {
  for (const char* name : {"srv/a1", "srv/b1", "srv/a2", "srv/b2"}) tree_.File(name);
  Match("regex = '/srv/(?P<kind>.)(?P<n>\\d)'\ntype = 'file'\ngroup_by = 'n'\nid = 'same'");
  for (const char* path : {"/srv/a2", "/srv/b2"}) {
    EXPECT_THAT(Explained(path), HasSubstr("rejected   same: /srv/a2, /srv/b2: duplicate_id: "));
  }
}

TEST_F(ExplainPathTest, ReportsPathsThatACommandDidNotPrint) {
  tree_.CharDevice("dev/x", 1, 3);
  Match(R"(command = ["/bin/echo", '[{"id": "a", "paths": ["/dev/x"]}]'])");
  EXPECT_THAT(Explained("/dev/x"), HasSubstr("listed     a: /dev/x\n"));
  tree_.CharDevice("dev/y", 1, 5);
  EXPECT_THAT(Explained("/dev/y"), HasSubstr("filtered   /dev/y: the command did not print it\n"));
  EXPECT_THAT(Explained("/dev/z"), HasSubstr("filtered   /dev/z: the path does not exist\n"));
  Match(R"(command = ["/bin/false"])");
  EXPECT_THAT(Explained("/dev/x"), HasSubstr("rejected   /bin/false: command_failed: "))
      << "that may be why";
}

TEST_F(ExplainPathTest, RejectsArgumentsThatNameNothing) {
  Match("path = '/dev/*'");
  const auto refused = [&](const std::string& path) {
    const Ran ran = Explain({"--path", path});
    EXPECT_EQ(ran.code, kFailed);
    EXPECT_EQ(ran.out, "");
    return ran.err;
  };
  for (const std::string path : {"foo", "dev/kvm", "../x", "a\nb", "."}) {
    EXPECT_THAT(refused(path), HasSubstr("\" is not a path, and there is no device with this ID or "
                                         "name in sysfs: write a path such as /dev/ttyUSB0"))
        << path;
  }
  EXPECT_THAT(refused("a\nb"), HasSubstr("\"a\\x0ab\""));
}

TEST_F(ExplainPathTest, GroupsUnrelatedResourcesOnOneLine) {
  std::string config =
      "[[resource]]\nname = \"a.com/file\"\n[[resource.match]]\npath = "
      "\"/srv/x*\"\ntype = \"file\"\n";
  const auto add = [&](int n) {
    config += Format(
        "[[resource]]\nname = \"a.com/n{0}\"\n[[resource.match]]\npath = "
        "\"/dev/n{0}\"\n",
        n);
  };
  for (int n = 0; n < 3; ++n) add(n);
  tree_.File("srv/x1");
  Config(config);
  EXPECT_THAT(Explained("/srv/x1"), HasSubstr("a.com/n2\n  match 1: path = \"/dev/n2\"\n"))
      << "few";
  add(3);
  Config(config);
  EXPECT_THAT(Explained("/srv/x1"),
              AllOf(HasSubstr("listed     x1: /srv/x1\n"),
                    HasSubstr("\nno match of these resources is for it: a.com/n0, a.com/n1, "
                              "a.com/n2, a.com/n3\n"),
                    Not(HasSubstr("/dev/n2"))));
  EXPECT_THAT(Explain({"a.com/n2", "--path", "/srv/x1"}).out,
              HasSubstr("filtered   /srv/x1: the pattern does not match it\n"));
}

TEST_F(ExplainPathTest, AcceptsTheNameInAResourceSlice) {
  tree_.File("srv/CARD0");
  Config(
      "[[resource]]\nname = \"a.com/x\"\napi = \"dra\"\n"
      "match = [{ path = \"/srv/CARD*\", type = \"file\" }]\n");
  const auto json = nlohmann::json::parse(Explain({"-o", "json"}).out);
  const std::string name = json["resources"][0]["dra"]["devices"][0]["slice_name"];
  ASSERT_NE(name, "CARD0");
  for (const std::string& argument : {name, name + "::1"}) {
    EXPECT_THAT(Explained(argument), AllOf(StartsWith(argument + "\n"),
                                           HasSubstr("    listed     CARD0: /srv/CARD0\n")));
  }
}

TEST_F(ExplainPathTest, ReportsNodesSharedByTwoResources) {
  tree_.File("srv/x1");
  tree_.File("srv/x2");
  const std::string match = "[[resource.match]]\npath = \"/srv/x*\"\ntype = \"file\"\n";
  Config("[[resource]]\nname = \"a.com/a\"\n" + match + "[[resource]]\nname = \"a.com/b\"\n" +
         match);
  EXPECT_THAT(
      Explained("/srv/x2"),
      AllOf(HasSubstr("  shared: /srv/x2 also belongs to a.com/b; it may be allocated twice"),
            HasSubstr("  shared: /srv/x2 also belongs to a.com/a; ")));
  EXPECT_THAT(Explained("/srv/x3"), Not(HasSubstr("shared")));
}

TEST_F(ExplainPathTest, JsonContainsTheQuery) {
  Adapter("1", "0403", "0");
  tree_.Link("dev/modem", "ttyUSB0");
  Match("usb = '0403:6001'");
  const auto json = nlohmann::json::parse(Explain({"--path", "/dev/modem", "-o", "json"}).out);
  const auto& target = json.at("target");
  EXPECT_EQ(target.at("path"), "/dev/modem");
  EXPECT_THAT(target.at("paths"), ElementsAre("/dev/modem", "/dev/ttyUSB0"));
  EXPECT_THAT(target.at("sysfs"), ElementsAre("/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1/"
                                              "1-1:1.0/tty/ttyUSB0"));
  EXPECT_EQ(Outcomes("/dev/modem").at(0).at("id"), "0403:6001-A1");
  EXPECT_THAT(nlohmann::json::parse(Explain({"-o", "json"}).out).count("target"), 0);
}

}  // namespace
}  // namespace patchbay
