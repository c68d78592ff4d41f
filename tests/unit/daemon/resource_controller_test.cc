#include "daemon/resource_controller.h"

#include <gmock/gmock.h>

#include <sstream>

#include "support/counting_observer.h"
#include "support/fake_loop.h"
#include "support/temp_tree.h"
#include "unit/discovery/specs.h"

namespace patchbay {
namespace {

using std::chrono::minutes;
using testing::ElementsAre;

/// A resource of all regular files in /dev of a host tree, on a loop whose clock stands still.
class ResourceControllerTest : public testing::Test {
 protected:
  ResourceControllerTest() {
    ResourceSpec spec = test::Resource({test::PathMatch({"/dev/*"}, NodeType::kFile)});
    spec.forget_after = minutes(10);
    const ResourceController::World world{
        scanner_,
        HostRoot(tree_.path()),
        {},
        nullptr,
        ResourcePlugin::World{loop_, servers_, log_, AllocationContext{}, tree_.path("kubelet"),
                              "00000000"}};
    controller_.emplace(
        world, std::make_shared<const ResourceSpec>(std::move(spec)), observer_,
        ResourceController::Events{.on_scanned = [this](bool changed) { moves_ += changed; },
                                   .on_published = [] {},
                                   .on_registered = [] {},
                                   .on_kubelet_answers = [](bool) {}});
  }

  void AwaitScans(int scans) {
    ASSERT_TRUE(loop_.RunUntil([&] { return observer_->scans == scans; }));
  }
  std::vector<std::string> Listed() const {
    std::vector<std::string> ids;
    for (const ListedDevice& listed : controller_->snapshot()->devices) {
      ids.push_back(listed.device->id + (listed.health == Health::kHealthy ? "" : "!"));
    }
    return ids;
  }

  test::TempTree tree_;
  test::FakeLoop loop_;
  std::ostringstream log_text_;
  Log log_{LogLevel::kDebug, LogFormat::kText, log_text_};
  std::shared_ptr<test::CountingObserver> observer_ = std::make_shared<test::CountingObserver>();
  int moves_ = 0;
  std::optional<ResourceController> controller_;
  Worker scanner_;
  Worker servers_;
};

TEST_F(ResourceControllerTest, ManyWishesToScanAreOneMoreScan) {
  tree_.File("dev/a");
  for (int i = 0; i < 5; ++i) controller_->Scan();
  AwaitScans(1);
  loop_.Advance(minutes(1));  // over the pause, which is as long as the scan took
  AwaitScans(2);
  loop_.Advance(minutes(1));
  EXPECT_EQ(observer_->scans, 2);
  EXPECT_THAT(Listed(), ElementsAre("a"));
}

TEST_F(ResourceControllerTest, AStormIsLookedAtMoreAndMoreRarely) {
  const auto storm = [&](std::chrono::milliseconds length) {
    const int before = observer_->scans;
    for (const auto end = loop_.Now() + length; loop_.Now() < end;) {
      controller_->Scan();
      // Nobody knows what matters while the host is looked at.
      ASSERT_TRUE(loop_.RunUntil([&] { return !controller_->MayDependOn("/"); }));
      loop_.Advance(std::chrono::milliseconds(5));
    }
    // One a second, and those of the first second, between which the pause doubles.
    EXPECT_LE(observer_->scans - before, length / std::chrono::seconds(1) + 30);
    EXPECT_GE(observer_->scans - before, length / std::chrono::seconds(2));
  };
  storm(minutes(2));
  loop_.Advance(minutes(1));
  // When it is over all is as before.
  storm(std::chrono::milliseconds(100));
  const int before = observer_->scans;
  loop_.Advance(minutes(1));
  EXPECT_LE(observer_->scans, before + 1);
}

TEST_F(ResourceControllerTest, WhatIsFoundAfterTheEndDoesNotCount) {
  tree_.File("dev/a");
  controller_->Scan();
  AwaitScans(1);
  loop_.Advance(minutes(1));
  tree_.Remove("dev/a");
  controller_->Scan();
  bool ended = false;
  controller_->End([&] { ended = true; });
  ASSERT_TRUE(loop_.RunUntil([&] { return ended && !controller_->MayDependOn("/"); }));
  EXPECT_EQ(observer_->scans, 1);
  EXPECT_THAT(Listed(), ElementsAre("a"));
  controller_->Scan();
  EXPECT_FALSE(controller_->MayDependOn("/"));
}

TEST_F(ResourceControllerTest, WhatDidNotChangeIsNotPublished) {
  tree_.File("dev/a");
  for (int scan = 1; scan <= 3; ++scan) {
    controller_->Scan();
    AwaitScans(scan);
    loop_.Advance(minutes(1));
  }
  EXPECT_EQ(observer_->snapshots, 1);
  tree_.File("dev/b");
  controller_->Scan();
  AwaitScans(4);
  EXPECT_EQ(observer_->snapshots, 2);
  EXPECT_THAT(Listed(), ElementsAre("a", "b"));
}

TEST_F(ResourceControllerTest, VanishedDevicesAreForgottenInTime) {
  tree_.File("dev/a");
  tree_.File("dev/b");
  controller_->Scan();
  AwaitScans(1);
  loop_.Advance(minutes(1));
  tree_.Remove("dev/a");
  controller_->Scan();
  AwaitScans(2);
  EXPECT_THAT(Listed(), ElementsAre("a!", "b"));
  loop_.Advance(minutes(9));
  EXPECT_THAT(Listed(), ElementsAre("a!", "b"));
  loop_.Advance(minutes(2));
  EXPECT_THAT(Listed(), ElementsAre("b"));
}

TEST_F(ResourceControllerTest, TellsWhichDirectoriesMatter) {
  tree_.Dir("dev");
  EXPECT_FALSE(controller_->MayDependOn(tree_.path("dev")));
  controller_->Scan();
  EXPECT_TRUE(controller_->MayDependOn("/anything"));  // nobody knows before the scan is over
  AwaitScans(1);
  EXPECT_TRUE(controller_->MayDependOn(tree_.path("dev")));
  EXPECT_FALSE(controller_->MayDependOn("/anything"));
  EXPECT_EQ(moves_, 1);
  loop_.Advance(minutes(1));
  controller_->Scan();
  AwaitScans(2);
  EXPECT_EQ(moves_, 1);
}

TEST_F(ResourceControllerTest, IsNotRegisteredBeforeTheFirstLook) {
  tree_.Dir("kubelet");
  controller_->OnKubelet(1);
  loop_.RunPosted();
  EXPECT_TRUE(std::filesystem::is_empty(tree_.path("kubelet")));
  controller_->Scan();
  AwaitScans(1);
  // It serves first; there is nobody to register with.
  ASSERT_TRUE(loop_.RunUntil(
      [&] { return log_text_.str().find("the kubelet does not answer") != std::string::npos; }));
  bool ended = false;
  controller_->End([&] { ended = true; });
  ASSERT_TRUE(loop_.RunUntil([&] { return ended; }));
  EXPECT_TRUE(std::filesystem::is_empty(tree_.path("kubelet")));
}

TEST_F(ResourceControllerTest, LogsChangesOnceAndStartsWithASummary) {
  tree_.File("dev/a");
  tree_.Link("dev/dangling", "nowhere");
  controller_->Scan();
  AwaitScans(1);
  EXPECT_THAT(log_text_.str(), testing::HasSubstr("listed=1 rejected=1"));
  EXPECT_THAT(log_text_.str(), testing::Not(testing::HasSubstr("device appeared")));
  EXPECT_THAT(log_text_.str(), testing::HasSubstr("device rejected"));
  loop_.Advance(minutes(1));
  log_text_.str("");
  tree_.File("dev/b");
  tree_.Remove("dev/a");
  controller_->Scan();
  AwaitScans(2);
  EXPECT_THAT(log_text_.str(),
              testing::HasSubstr("device appeared resource=example.com/thing device=b"));
  EXPECT_THAT(log_text_.str(),
              testing::HasSubstr("device is unhealthy resource=example.com/thing device=a"));
  EXPECT_THAT(log_text_.str(), testing::Not(testing::HasSubstr("rejected")));
}

}  // namespace
}  // namespace patchbay
