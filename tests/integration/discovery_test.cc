// Discovery of devices: sysfs and the udev database, links, commands, and resources that claim
// the same node, from the host to the table of the kubelet.

#include <filesystem>

#include "base/format.h"
#include "integration/contract.h"
#include "support/fake_sysfs.h"

namespace patchbay::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kOtherName = "example.com/other";

/// A host tree with its own /sys. Only changes in the tree cause events: the periodic scan
/// is a day away.
class DeviceDiscovery : public Contract {
 protected:
  void Start(std::string_view resources, std::string_view rescan = "24h") {
    StartKubelet();
    StartDaemon(resources, {.daemon_keys = Format("rescan = \"{}\"", rescan)});
    ASSERT_TRUE(AwaitServed());
  }

  /// Plugs in a serial adapter at a port of the hub. Without a serial number, the port is its ID.
  void PlugIn(const std::string& port, int number) {
    const std::string usb = kHub + "/" + port, interface = usb + "/" + port + ":1.0";
    const std::string name = "ttyUSB" + std::to_string(number);
    sysfs_.Device(usb, {.subsystem = "usb",
                        .driver = "usb",
                        .devtype = "usb_device",
                        .attributes = {{"idVendor", "0403"}, {"idProduct", "6001"}}});
    sysfs_.Device(interface, {.subsystem = "usb",
                              .driver = "ftdi_sio",
                              .devtype = "usb_interface",
                              .attributes = {{"bInterfaceNumber", "00"}}});
    sysfs_.Device(interface + "/tty/" + name,
                  {.subsystem = "tty", .number = "188:" + std::to_string(number)});
  }
  void Unplug(const std::string& port) { sysfs_.Remove(kHub + "/" + port); }

  /// Writes the udev database entry of a tty with that number, like udev: a temporary file,
  /// renamed.
  void WriteUdevEntry(int number, const std::string& model) {
    tree_.Dir("run/udev/data");
    tree_.File("run/udev/new", "E:ID_MODEL=" + model + "\n");
    std::filesystem::rename(tree_.path("run/udev/new"),
                            tree_.path("run/udev/data/c188:" + std::to_string(number)));
  }

  /// Replaces a link atomically.
  void Retarget(const std::string& link, const std::string& target) {
    tree_.Link("dev/.new", target);
    std::filesystem::rename(tree_.path("dev/.new"), tree_.path(link));
  }

  static inline const std::string kHub = "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1";
  FakeSysfs sysfs_{tree_};
};

// --- sysfs and udev ---

TEST_P(DeviceDiscovery, UsbDeviceKeepsItsIdWithANewNodeNumber) {
  PlugIn("1-1.1", 0);
  ASSERT_NO_FATAL_FAILURE(Start(R"(
[[resource]]
name = "example.com/serial"
  [[resource.match]]
  usb  = "0403:6001"
  udev = { subsystem = "tty" }
)"));
  const std::string one = "0403:6001@1-1.1", two = "0403:6001@1-1.2";
  ASSERT_TRUE(AwaitHealth({{one, "Healthy"}}));
  PlugIn("1-1.2", 1);  // /dev is watched, because a device was there
  ASSERT_TRUE(AwaitHealth({{one, "Healthy"}, {two, "Healthy"}}));
  Unplug("1-1.1");
  ASSERT_TRUE(AwaitHealth({{one, "Unhealthy"}, {two, "Healthy"}}));
  Unplug("1-1.2");
  ASSERT_TRUE(AwaitHealth({{one, "Unhealthy"}, {two, "Unhealthy"}}));
  PlugIn("1-1.2", 0);  // the first one that is back
  WriteUdevEntry(0, "FT232R");
  ASSERT_TRUE(AwaitHealth({{one, "Unhealthy"}, {two, "Healthy"}}));
  v1beta1::AllocateResponse response;
  ASSERT_TRUE(Stub().Allocate({{two}}, &response).ok());
  EXPECT_EQ(response.container_responses(0).devices(0).host_path(), "/dev/ttyUSB0");
}

TEST_P(DeviceDiscovery, PropertiesFollowTheUdevDatabase) {
  PlugIn("1-1.1", 0);
  ASSERT_NO_FATAL_FAILURE(Start(R"(
[[resource]]
name = "example.com/serial"
  [[resource.match]]
  udev = { subsystem = "tty", properties = { ID_MODEL = "FT*" } }
[[resource]]
name = "example.com/other"
  [[resource.match]]
  path = "/dev/ttyUSB*"
  udev = { properties = { ID_MODEL = "FT*" } }
)"));
  ASSERT_TRUE(AwaitServed(kOtherName));
  EXPECT_EQ(View().capacity, 0U);
  EXPECT_EQ(View(kOtherName).capacity, 0U);
  const std::string id = "0403:6001@1-1.1-if00";
  WriteUdevEntry(0, "FT232R");  // udev starts
  EXPECT_TRUE(AwaitHealth({{id, "Healthy"}}));
  EXPECT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}}, kOtherName));
  WriteUdevEntry(0, "CP2102");
  EXPECT_TRUE(AwaitHealth({{id, "Unhealthy"}}));
  EXPECT_TRUE(AwaitHealth({{"ttyUSB0", "Unhealthy"}}, kOtherName));
}

TEST_P(DeviceDiscovery, RescanFindsDevicesWithoutEvents) {
  ASSERT_NO_FATAL_FAILURE(Start(R"(
[[resource]]
name = "example.com/serial"
  [[resource.match]]
  udev = { subsystem = "net" }
)",
                                "1s"));
  sysfs_.Device("/sys/devices/platform/can0/net/can0", {.subsystem = "net", .ifindex = "4"});
  ASSERT_TRUE(AwaitHealth({{"can0", "Healthy"}}));
  sysfs_.Remove("/sys/devices/platform/can0");
  ASSERT_TRUE(AwaitHealth({{"can0", "Unhealthy"}}));
}

// --- links ---

constexpr std::string_view kById = R"(
[[resource]]
name = "example.com/serial"
  [[resource.match]]
  path = "/dev/serial/by-id/*"
)";

TEST_P(DeviceDiscovery, FollowsADeviceBehindAChainOfLinks) {
  tree_.CharDevice("dev/ttyUSB0");
  tree_.Link("dev/modems/modem", "../ttyUSB0");
  tree_.Link("dev/serial/by-id/a", "../../modems/modem");
  ASSERT_NO_FATAL_FAILURE(Start(kById));
  ASSERT_TRUE(AwaitHealth({{"a", "Healthy"}}));
  Retarget("dev/modems/modem", "../ttyUSB1");  // which does not exist yet
  ASSERT_TRUE(AwaitHealth({{"a", "Unhealthy"}}));
  tree_.CharDevice("dev/ttyUSB1");
  ASSERT_TRUE(AwaitHealth({{"a", "Healthy"}}));
  v1beta1::AllocateResponse response;
  ASSERT_TRUE(Stub().Allocate({{"a"}}, &response).ok());
  EXPECT_EQ(response.container_responses(0).devices(0).host_path(), "/dev/ttyUSB1");
  EXPECT_EQ(response.container_responses(0).devices(0).container_path(), "/dev/serial/by-id/a");
  tree_.Remove("dev/ttyUSB1");
  ASSERT_TRUE(AwaitHealth({{"a", "Unhealthy"}}));
  tree_.CharDevice("dev/ttyUSB1");  // the links still exist
  ASSERT_TRUE(AwaitHealth({{"a", "Healthy"}}));
}

TEST_P(DeviceDiscovery, LogsThatAnIdMovedToOtherHardware) {
  tree_.CharDevice("dev/ttyUSB0", 188, 0);
  tree_.CharDevice("dev/ttyUSB1", 188, 1);
  tree_.Link("dev/serial/by-id/a", "../../ttyUSB0");
  ASSERT_NO_FATAL_FAILURE(Start(kById));
  ASSERT_TRUE(AwaitHealth({{"a", "Healthy"}}));
  Retarget("dev/serial/by-id/a", "../../ttyUSB1");
  EXPECT_TRUE(daemon_->log().Await(
      "device ID moved to another node resource=example.com/serial device=a "
      "reason=\"/dev/serial/by-id/a led to /dev/ttyUSB0 (188:0) and leads to /dev/ttyUSB1 (188:1) "
      "now\""))
      << daemon_->log().text();
}

TEST_P(DeviceDiscovery, LogsOnceThatAnExcludeExcludesNothing) {
  tree_.CharDevice("dev/ttyUSB0");
  ASSERT_NO_FATAL_FAILURE(Start(Serial("", "  exclude = \"/dev/ttyUSB_CONSOLE\"")));
  const std::string warning =
      "exclude has no effect resource=example.com/serial path=/dev/ttyUSB_CONSOLE "
      "reason=\"it excludes nothing";
  EXPECT_TRUE(daemon_->log().Await(warning)) << daemon_->log().text();
  tree_.CharDevice("dev/ttyUSB1");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}}));
  EXPECT_EQ(daemon_->log().Count(warning), 1U);
}

TEST_P(DeviceDiscovery, RejectsALinkLoopUntilItIsFixed) {
  tree_.CharDevice("dev/ttyUSB0");
  tree_.Link("dev/modems/modem", "../serial/by-id/a");
  tree_.Link("dev/serial/by-id/a", "../../modems/modem");
  ASSERT_NO_FATAL_FAILURE(Start(kById));
  const std::string rejected =
      "patchbay_rejected_devices{reason=\"dangling_link\",resource=\"example.com/serial\"}";
  EXPECT_TRUE(daemon_->AwaitMetric(rejected, 1));
  Retarget("dev/modems/modem", "../ttyUSB0");
  ASSERT_TRUE(AwaitHealth({{"a", "Healthy"}}));
  EXPECT_TRUE(daemon_->AwaitMetric(rejected, 0));
}

TEST_P(DeviceDiscovery, FollowsADirectoryBehindAChainOfLinks) {
  tree_.CharDevice("srv/one/a");
  tree_.CharDevice("srv/two/b");
  tree_.Link("opt/current", "/srv/one");
  tree_.Link("dev/serial/by-id", "/opt/current");
  ASSERT_NO_FATAL_FAILURE(Start(kById));
  ASSERT_TRUE(AwaitHealth({{"a", "Healthy"}}));
  tree_.Link("opt/new", "/srv/two");
  std::filesystem::rename(tree_.path("opt/new"), tree_.path("opt/current"));
  ASSERT_TRUE(AwaitHealth({{"a", "Unhealthy"}, {"b", "Healthy"}}));
}

// --- commands ---

TEST_P(DeviceDiscovery, HangingCommandsDoNotDelayOtherResources) {
  tree_.CharDevice("dev/ttyUSB0");
  std::string resources;
  for (int i = 0; i < 10; ++i) {  // more than there are scanners
    resources += Format(R"(
[[resource]]
name = "example.com/hangs-{}"
  [[resource.match]]
  command = ["/bin/sleep", "600"]
  timeout = "5m"
)",
                        i);
  }
  resources += R"(
[[resource]]
name = "example.com/other"
  [[resource.match]]
  command = ["/bin/echo", '[{"id": "a"}]']
)";
  ASSERT_NO_FATAL_FAILURE(Start(resources + std::string(kSerial)));
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}}));
  ASSERT_TRUE(AwaitHealth({{"a", "Healthy"}}, kOtherName));
  tree_.CharDevice("dev/ttyUSB1");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}}));
  EXPECT_THAT(Calls("example.com/hangs-0"), testing::IsEmpty());
  EXPECT_THAT(daemon_->Get("/readyz").body, HasSubstr("example.com/hangs-9"));
  EXPECT_TRUE(daemon_->Stop());
  EXPECT_THAT(daemon_->log().text(), Not(HasSubstr("stopped because")))
      << "an operation that has not ended is not reported";
}

// --- several resources ---

std::string TwoResources(std::string_view first_keys) {
  return Format(R"(
[[resource]]
name = "example.com/other"
{}
  [[resource.match]]
  path = "/dev/serial/by-id/*"
{})",
                first_keys, kSerial);
}

TEST_P(DeviceDiscovery, ExclusiveResourceTakesNewMatches) {
  tree_.CharDevice("dev/ttyUSB0");
  tree_.CharDevice("dev/ttyUSB1");
  ASSERT_NO_FATAL_FAILURE(Start(TwoResources("exclusive = true")));
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}}));
  tree_.Link("dev/serial/by-id/a", "../../ttyUSB0");
  ASSERT_TRUE(AwaitHealth({{"a", "Healthy"}}, kOtherName));
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Unhealthy"}, {"ttyUSB1", "Healthy"}}));
  EXPECT_TRUE(daemon_->log().Await("belongs to example.com/other, which is exclusive"));
  EXPECT_FALSE(Stub().Allocate({{"ttyUSB0"}}).ok());
  Retarget("dev/serial/by-id/a", "../../ttyUSB1");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Unhealthy"}}));
  tree_.Remove("dev/serial/by-id/a");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}}));
  ASSERT_TRUE(AwaitHealth({{"a", "Unhealthy"}}, kOtherName));
}

TEST_P(DeviceDiscovery, ReportsAndCountsNodesOfTwoResources) {
  tree_.CharDevice("dev/ttyUSB0");
  tree_.CharDevice("dev/ttyUSB1");
  ASSERT_NO_FATAL_FAILURE(Start(TwoResources("")));
  const auto shared = [&](double devices) {
    return daemon_->AwaitMetric("patchbay_shared_devices{resource=\"example.com/serial\"}",
                                devices) &&
           daemon_->AwaitMetric("patchbay_shared_devices{resource=\"example.com/other\"}", devices);
  };
  const std::string warning = "two resources list the same device node";
  EXPECT_TRUE(shared(0));
  tree_.Link("dev/serial/by-id/a", "../../ttyUSB0");
  EXPECT_TRUE(shared(1));
  tree_.Link("dev/serial/by-id/b", "../../ttyUSB1");
  EXPECT_TRUE(shared(2));
  EXPECT_TRUE(daemon_->log().Await(warning));
  EXPECT_THAT(daemon_->log().text(), HasSubstr("path=/dev/ttyUSB0"));
  tree_.Remove("dev/serial/by-id");
  EXPECT_TRUE(shared(0));
  EXPECT_EQ(daemon_->log().Count(warning), 1U);
  // A problem that has ended can occur again.
  tree_.Link("dev/serial/by-id/b", "../../ttyUSB1");
  EXPECT_TRUE(shared(1));
  EXPECT_TRUE(daemon_->log().Await(warning, 2));
}

INSTANTIATE_TEST_SUITE_P(AKubelet, DeviceDiscovery, testing::Values(KubeletProfile::kSync),
                         ProfileName);

}  // namespace
}  // namespace patchbay::test
