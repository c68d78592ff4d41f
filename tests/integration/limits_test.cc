// Limits of the whole daemon. docs/limits.md lists all limits.

#include "base/format.h"
#include "integration/contract.h"
#include "integration/entries.h"
#include "integration/program.h"

namespace patchbay::test {
namespace {

using testing::HasSubstr;

/// How the kubelet registers does not matter.
class Limits : public Contract {};

TEST_P(Limits, WarnsOfListsLongerThanTenThousand) {
  StartKubelet();
  constexpr std::string_view kResources = R"(
[[resource]]
name = "example.com/many"
  [[resource.match]]
  count = 10000
[[resource]]
name = "example.com/more"
replicas = 73
  [[resource.match]]
  count = 137
)";
  static_assert(73 * 137 == 10'001);
  StartDaemon(kResources);
  ASSERT_TRUE(AwaitServed("example.com/many"));
  ASSERT_TRUE(AwaitServed("example.com/more"));
  EXPECT_EQ(View("example.com/many").capacity, 10'000U);
  EXPECT_EQ(View("example.com/more").capacity, 10'001U);
  EXPECT_EQ(daemon_->log().Count("the device list is long"), 1U);
  EXPECT_THAT(daemon_->log().text(),
              HasSubstr("lower replicas resource=example.com/more units=10001\n"));
}

// With fewer watches than directories, some are read only by the periodic scan, and nothing is
// missed.
TEST_P(Limits, RescanFindsChangesInUnwatchedDirectories) {
  constexpr int kDirectories = 60;
  HealthById devices;
  const auto add = [&](const char* name) {
    for (int i = 0; i < kDirectories; ++i) {
      tree_.CharDevice(Format("dev/d{:02}/{}", i, name));
      devices[Format("d{:02}:{}", i, name)] = "Healthy";
    }
  };
  add("tty0");
  StartKubelet();
  Process process(tree_, tree_.path("kubelet"), R"(
[[resource]]
name = "example.com/serial"
  [[resource.match]]
  path = "/dev/d*/tty*"
)",
                  [] { return EnterLimited("max_inotify_watches", "40"); });
  if (!AwaitServed()) {
    if (process.Wait(std::chrono::milliseconds(0)) == Process::kCannotEnter) {
      GTEST_SKIP() << "no user namespaces";
    }
    FAIL() << process.log();
  }
  EXPECT_EQ(HealthOf(View()), devices);
  ASSERT_TRUE(
      process.AwaitLog("some directories cannot be watched; they are scanned only at each "
                       "rescan"))
      << process.log();
  EXPECT_THAT(process.log(), HasSubstr("(see fs.inotify.max_user_watches)"));
  add("tty1");
  EXPECT_TRUE(AwaitHealth(devices)) << process.log();
}

// The other process of a rolling update writes there too.
TEST_P(Limits, RescanReadsClaimsInAnUnwatchedDirectory) {
  tree_.CharDevice("dev/ttyUSB0");
  const auto break_record = [&](const std::string& uid) {
    tree_.File(Format("plugins/patchbay.dev/claims/claim_{}.json", uid), "[");
  };
  break_record("first");
  StartKubelet();
  Process process(tree_, tree_.path("kubelet"),
                  Format("cdi_dir = \"{}\"\n{}", tree_.path("cdi"), Serial("api = \"dra\"")),
                  [] { return EnterLimited("max_inotify_watches", "0"); });
  if (!process.AwaitLog("cannot watch the files of claims; reading them at each rescan")) {
    if (process.Wait(std::chrono::milliseconds(0)) == Process::kCannotEnter) {
      GTEST_SKIP() << "no user namespaces";
    }
    FAIL() << process.log();
  }
  EXPECT_THAT(process.log(), HasSubstr("(see fs.inotify.max_user_watches)"));
  ASSERT_TRUE(process.AwaitLog("claim_first.json")) << process.log();
  // More than the reads at the start can find.
  for (const char* uid : {"second", "third", "fourth", "fifth"}) {
    break_record(uid);
    ASSERT_TRUE(process.AwaitLog(Format("claim_{}.json", uid))) << process.log();
  }
}

INSTANTIATE_TEST_SUITE_P(AKubelet, Limits, testing::Values(KubeletProfile::kSync), ProfileName);

}  // namespace
}  // namespace patchbay::test
