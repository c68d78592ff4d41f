// Devices that are added, removed and changed, from the node on the host to the table of the
// kubelet.

#include <filesystem>

#include "base/format.h"
#include "integration/contract.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;
using testing::SizeIs;

/// Only events cause scans: the periodic scan is a day away.
class Hotplug : public Contract {
 protected:
  void Start(std::string_view resources = kSerial) {
    StartKubelet();
    StartDaemon(resources, {.daemon_keys = "rescan = \"24h\""});
    ASSERT_TRUE(AwaitServed());
  }
};

/// A slow operation that does not concern the kubelet.
class HotplugWithOneKubelet : public Hotplug {};

TEST_P(Hotplug, FollowsACreatedRemovedAndReplacedNode) {
  ASSERT_NO_FATAL_FAILURE(Start());
  EXPECT_EQ(View().capacity, 0U);
  tree_.CharDevice("dev/ttyUSB0");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}}));
  tree_.Remove("dev/ttyUSB0");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Unhealthy"}}));
  tree_.CharDevice("dev/ttyUSB0", 1, 5);
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}}));
  // A file of another type with that name is not a device.
  tree_.Remove("dev/ttyUSB0");
  tree_.File("dev/ttyUSB0");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Unhealthy"}}));
  EXPECT_THAT(Calls(), SizeIs(1));
}

TEST_P(Hotplug, FollowsARenamedNode) {
  tree_.CharDevice("dev/ttyUSB0");
  ASSERT_NO_FATAL_FAILURE(Start());
  tree_.CharDevice("dev/other");
  std::filesystem::rename(tree_.path("dev/other"), tree_.path("dev/ttyUSB1"));
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Healthy"}}));
  std::filesystem::rename(tree_.path("dev/ttyUSB0"), tree_.path("dev/other"));
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Unhealthy"}, {"ttyUSB1", "Healthy"}}));
}

constexpr std::string_view kDeep = R"(
[[resource]]
name = "example.com/serial"
  [[resource.match]]
  path = "/dev/serial/by-id/*"
)";

TEST_P(Hotplug, FindsADirectoryCreatedLater) {
  ASSERT_NO_FATAL_FAILURE(Start(kDeep));
  tree_.CharDevice("dev/serial/by-id/a");  // created with all its directories
  ASSERT_TRUE(AwaitHealth({{"a", "Healthy"}}));
  tree_.Remove("dev/serial");
  ASSERT_TRUE(AwaitHealth({{"a", "Unhealthy"}}));
  tree_.CharDevice("dev/serial/by-id/b");
  ASSERT_TRUE(AwaitHealth({{"a", "Unhealthy"}, {"b", "Healthy"}}));
  tree_.CharDevice("dev/serial/by-id/a");
  ASSERT_TRUE(AwaitHealth({{"a", "Healthy"}, {"b", "Healthy"}}));
}

// Changes above a watched directory cause no event. The periodic scan finds them, and
// from then on the new directory is watched.
TEST_P(HotplugWithOneKubelet, RescanFindsAReplacedDirectory) {
  tree_.CharDevice("dev/serial/by-id/a");
  StartKubelet();
  StartDaemon(kDeep, {.daemon_keys = "rescan = \"8s\""});
  ASSERT_TRUE(AwaitServed());
  tree_.CharDevice("dev/new/by-id/b");
  std::filesystem::rename(tree_.path("dev/serial"), tree_.path("dev/old"));
  std::filesystem::rename(tree_.path("dev/new"), tree_.path("dev/serial"));
  ASSERT_TRUE(AwaitHealth({{"a", "Unhealthy"}, {"b", "Healthy"}}));
  tree_.CharDevice("dev/serial/by-id/c");
  EXPECT_TRUE(AwaitView([](const ResourceView& view) { return HealthOf(view).contains("c"); },
                        kSerialName, 7s));
}

TEST_P(Hotplug, FollowsARetargetedLink) {
  tree_.CharDevice("dev/ttyUSB0");
  tree_.CharDevice("dev/ttyUSB1");
  tree_.Link("dev/serial/by-id/a", "../../ttyUSB0");
  ASSERT_NO_FATAL_FAILURE(Start(kDeep));
  const auto host_path = [&] {
    v1beta1::AllocateResponse response;
    const grpc::Status status = Stub().Allocate({{"a"}}, &response);
    if (!status.ok()) return status.error_message();
    return response.container_responses(0).devices(0).host_path();
  };
  EXPECT_EQ(host_path(), "/dev/ttyUSB0");
  // The target is removed; the link dangles.
  tree_.Remove("dev/ttyUSB0");
  ASSERT_TRUE(AwaitHealth({{"a", "Unhealthy"}}));
  tree_.Link("dev/serial/by-id/.new", "../../ttyUSB1");
  std::filesystem::rename(tree_.path("dev/serial/by-id/.new"), tree_.path("dev/serial/by-id/a"));
  ASSERT_TRUE(AwaitHealth({{"a", "Healthy"}}));
  EXPECT_EQ(host_path(), "/dev/ttyUSB1");
}

TEST_P(Hotplug, ForgetsAVanishedDevice) {
  tree_.CharDevice("dev/ttyUSB0");
  tree_.CharDevice("dev/ttyUSB1");
  ASSERT_NO_FATAL_FAILURE(Start(Serial("forget_after = \"1500ms\"")));
  const auto start = std::chrono::steady_clock::now();
  tree_.Remove("dev/ttyUSB1");
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}, {"ttyUSB1", "Unhealthy"}}));
  ASSERT_TRUE(AwaitHealth({{"ttyUSB0", "Healthy"}}));
  EXPECT_GE(std::chrono::steady_clock::now() - start, 1500ms);
  EXPECT_EQ(View().capacity, 1U);
  EXPECT_EQ(Stub().Allocate({{"ttyUSB1"}}).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_P(Hotplug, SendsFewListsForAThousandNodes) {
  ASSERT_NO_FATAL_FAILURE(Start());
  HealthById all;
  for (int i = 0; i < 1000; ++i) {
    tree_.CharDevice(Format("dev/ttyUSB{}", i));
    all[Format("ttyUSB{}", i)] = "Healthy";
  }
  ASSERT_TRUE(AwaitHealth(all));
  EXPECT_LE(View().lists, 8U);  // at most one per second, not one per node
  EXPECT_EQ(View().allocatable, 1000U);
}

INSTANTIATE_TEST_SUITE_P(Sync, HotplugWithOneKubelet, testing::Values(KubeletProfile::kSync),
                         ProfileName);
INSTANTIATE_TEST_SUITE_P(All, Hotplug,
                         testing::Values(KubeletProfile::kAsync, KubeletProfile::kSync,
                                         KubeletProfile::kMulti),
                         ProfileName);

}  // namespace
}  // namespace patchbay::test
