#include "inventory/host_lookups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <vector>

#include "support/hanging_mount.h"
#include "support/temp_tree.h"
#include "support/thread_limit.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

int LookUpWithoutThreads() {
  if (!test::ForbidThreads()) return 0;
  HostLookups lookups({HostRoot(), "node"}, 1h);
  std::string why;
  lookups.Run([](const AllocationContext&) {}, [] {}, [&](std::string late) { why = late; });
  return why.find("raise the limit of processes") == std::string::npos ? 2 : 0;
}

TEST(HostLookupsDeathTest, WithoutAThreadTheReasonNamesTheLimit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(LookUpWithoutThreads()), testing::ExitedWithCode(0), "");
}

class HostLookupsTest : public testing::Test {
 protected:
  /// Returns the result of a lookup of `path`: the target, or the message of on_late.
  std::future<std::string> LookUp(HostLookups& lookups, const std::string& path) {
    auto ended = std::make_shared<std::promise<std::string>>();
    const auto found = std::make_shared<std::string>();
    lookups.Run(
        [found, path](const AllocationContext& context) {
          const auto node = context.resolve(path);
          *found = node ? node->path : node.error().message;
        },
        [ended, found] { ended->set_value(*found); },
        [ended](const std::string& why) { ended->set_value(why); });
    return ended->get_future();
  }

  test::TempTree tree_;
  AllocationHost host_{HostRoot(tree_.path()), "node"};
};

TEST_F(HostLookupsTest, LooksUpOnAThread) {
  tree_.CharDevice("dev/a");
  tree_.Link("link", "dev/a");
  HostLookups lookups(host_, 1h);
  EXPECT_EQ(LookUp(lookups, "/link").get(), "/dev/a");
}

TEST_F(HostLookupsTest, ReportsAHangingPathToEveryWaiter) {
  tree_.Dir("mnt");
  tree_.CharDevice("dev/a");
  test::HangingMount mount(tree_.path("mnt"));
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  HostLookups lookups(host_, 1500ms);
  std::vector<std::future<std::string>> hang;
  for (std::size_t i = 0; i < HostLookups::kMaxHanging; ++i) {
    hang.push_back(LookUp(lookups, "/mnt/x"));
  }
  for (auto& one : hang) {
    EXPECT_THAT(one.get(), HasSubstr("timed out looking up /mnt/x after 1.5 s"));
  }
  EXPECT_THAT(LookUp(lookups, "/dev/a").get(), HasSubstr("8 lookups hang, the first of /mnt/x"));
  mount.End();
  // When they have returned, others can run.
  while (LookUp(lookups, "/dev/a").get() != "/dev/a") continue;
}

TEST_F(HostLookupsTest, DestructorDoesNotWaitForLookups) {
  tree_.Dir("mnt");
  test::HangingMount mount(tree_.path("mnt"));
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  std::future<std::string> hangs;
  {
    HostLookups lookups(host_, 1h);
    hangs = LookUp(lookups, "/mnt/x");
    ASSERT_TRUE(mount.AwaitHang(20s));
  }
  mount.End();
  EXPECT_THROW(hangs.get(), std::future_error) << "neither function was called";
}

}  // namespace
}  // namespace patchbay
