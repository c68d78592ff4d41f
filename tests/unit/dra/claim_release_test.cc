#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <future>
#include <optional>
#include <utility>

#include "base/format.h"
#include "unit/dra/claim_preparer_fixture.h"

namespace patchbay {
namespace {

using test::kThings;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Claims of the device "a", which has four slots, and their release.
class ClaimReleaseTest : public test::ClaimPreparerFixture {
 protected:
  ClaimReleaseTest() {
    spec_.replicas = 4;
    spec_.allocate.reset();
    spec_.pre_start.reset();
    spec_.env = {{test::MakeTemplate("THING_{replica}"), test::MakeTemplate("{id}")}};
    Restart();
    Allocate("one", {Shared(Thing("a"), "share-1")});
    Allocate("two", {Shared(Thing("a"), "share-2")});
  }
};

TEST_F(ClaimReleaseTest, ReleasesASharedDeviceWithItsLastClaim) {
  ASSERT_EQ(ErrorOf("one"), "prepared");
  ASSERT_EQ(ErrorOf("two"), "prepared");
  EXPECT_TRUE(Unprepare("one"));
  EXPECT_THAT(Runs(), IsEmpty()) << "another claim uses the device";
  EXPECT_THAT(Files(), ElementsAre(FileOf("two")));
  EXPECT_TRUE(Unprepare("two"));
  EXPECT_THAT(Runs(), ElementsAre("release a"));
}

TEST_F(ClaimReleaseTest, ReleasesADeviceOnceThatAClaimHasTwice) {
  Allocate("one", {Shared(Thing("a"), "share-1"), Shared(Thing("a", "other"), "share-2")});
  ASSERT_EQ(ErrorOf("one"), "prepared");
  EXPECT_TRUE(Unprepare("one"));
  EXPECT_THAT(Runs(), ElementsAre("release a"));
}

TEST_F(ClaimReleaseTest, ReleasesADeviceThatOthersAdminister) {
  Allocate("admin", {Admin(Thing("a"))});
  ASSERT_EQ(ErrorOf("one"), "prepared");
  ASSERT_EQ(ErrorOf("admin"), "prepared");
  EXPECT_TRUE(Unprepare("one"));
  EXPECT_THAT(Runs(), ElementsAre("release a"));
  EXPECT_TRUE(Unprepare("admin"));
  EXPECT_THAT(Runs(), ElementsAre("release a"));
}

TEST_F(ClaimReleaseTest, AFileThatCannotBeRemovedIsReleasedOnce) {
  ASSERT_EQ(ErrorOf("one"), "prepared");
  ASSERT_EQ(ErrorOf("two"), "prepared");
  if (!MakeReadOnly()) GTEST_SKIP() << "cannot mount here";
  const Status kept = Unprepare("one");
  MakeWritable();
  ASSERT_FALSE(kept);
  EXPECT_TRUE(Unprepare("two"));
  EXPECT_TRUE(Unprepare("one"));
  EXPECT_THAT(Runs(), ElementsAre("release a"));
  EXPECT_THAT(Files(), IsEmpty());
}

/// Otherwise the pod would never end.
TEST_F(ClaimReleaseTest, AHookThatFailsAfterTheDeadlineDoesNotRunAgain) {
  ASSERT_EQ(mkfifo(tree_.path("begun").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo(tree_.path("gate").c_str(), 0600), 0);
  spec_.release = HookThat(Format("echo release $0 >> {{}}; echo > {}; read x < {}; exit 1",
                                  tree_.path("begun"), tree_.path("gate")));
  Restart();
  ASSERT_EQ(ErrorOf("one"), "prepared");
  bool has_begun = false;
  std::optional<ClaimResults> results;
  preparer_->Unprepare({Key("one")}, Call(), [&](ClaimResults got) { results = got; });
  auto begun = std::async(std::launch::async, [&] {
    std::ifstream(tree_.path("begun")).get();
    loop_.Post([&] { has_begun = true; });
  });
  ASSERT_TRUE(loop_.RunUntil([&] { return has_begun; }));
  begun.get();
  loop_.Advance(std::chrono::seconds(45));
  ASSERT_TRUE(results);
  std::ofstream(tree_.path("gate")) << "\n";
  EXPECT_THAT(results->at("uid-of-one").error().message,
              HasSubstr("still at this step: running the hook release"));
  EXPECT_THAT(Files(), IsEmpty());

  EXPECT_TRUE(Unprepare("one"));
  EXPECT_THAT(Runs(), ElementsAre("release a"));
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(ClaimReleaseTest, AFailedHookDoesNotKeepThePod) {
  spec_.release = HookThat("echo release $0 >> {}; exit 1");
  Restart();
  ASSERT_EQ(ErrorOf("one"), "prepared");
  EXPECT_TRUE(Unprepare("one"));
  EXPECT_TRUE(Unprepare("one"));
  EXPECT_THAT(Runs(), ElementsAre("release a"));
}

TEST_F(ClaimReleaseTest, LogsTheReleaseThatAVanishedDeviceMisses) {
  ASSERT_EQ(ErrorOf("one"), "prepared");
  listed_ = {test::Listed("b")};
  Restart();
  EXPECT_TRUE(Unprepare("one"));
  EXPECT_THAT(text_.str(), AllOf(HasSubstr("release hook was not run"), HasSubstr("device=a"),
                                 HasSubstr("the device is no longer listed")));
  EXPECT_THAT(Runs(), IsEmpty());
  EXPECT_THAT(Files(), IsEmpty());
}

/// Otherwise the next pod would get a device that was not wiped.
TEST_F(ClaimReleaseTest, WaitsUntilTheResourceWasScanned) {
  ASSERT_EQ(ErrorOf("one"), "prepared");
  Restart();
  const ServedResource scanned = std::exchange(resources_[kThings], ServedResource());
  for (int i = 0; i < 2; ++i) {
    const Status early = Unprepare("one");
    ASSERT_FALSE(early);
    EXPECT_EQ(early.error().message,
              "ResourceClaim default/one: the release hook of the device \"a\" of "
              "example.com/thing cannot run yet: the resource was not scanned yet since Patchbay "
              "started; the kubelet will try again, and \"patchbay explain example.com/thing\" "
              "shows what is missing");
  }
  EXPECT_THAT(ErrorOf("two"), HasSubstr("was not scanned yet since Patchbay started"));
  resources_[kThings] = scanned;
  EXPECT_TRUE(Unprepare("one"));
  EXPECT_THAT(Runs(), ElementsAre("release a"));
}

TEST_F(ClaimReleaseTest, WaitsForADeviceThatMayExist) {
  ASSERT_EQ(ErrorOf("one"), "prepared");
  ListedDevice placeholder = test::Listed("a", Health::kUnhealthy, "not found since");
  placeholder.never_found = true;
  listed_ = {placeholder};
  Restart();
  const Status early = Unprepare("one");
  ASSERT_FALSE(early);
  EXPECT_THAT(early.error().message, HasSubstr("cannot run yet: the device was not found since"));
  listed_[0].is_missing = true;  // all places could be read
  Restart();
  EXPECT_TRUE(Unprepare("one"));
  EXPECT_THAT(Runs(), IsEmpty()) << "nothing shows whether a disk is in use";
  EXPECT_THAT(text_.str(), HasSubstr("release hook was not run"));
}

TEST_F(ClaimReleaseTest, NeedsNoScanWithoutAHook) {
  spec_.release.reset();
  Restart();
  ASSERT_EQ(ErrorOf("one"), "prepared");
  resources_[kThings] = {.has_release = false};
  EXPECT_TRUE(Unprepare("one"));
}

/// As when a node is drained whose disks are wiped.
TEST_F(ClaimReleaseTest, LongHooksKeepNoOtherClaimWaiting) {
  spec_.replicas = 1;
  spec_.release = HookThat(Format("while [ ! -e {} ]; do sleep 0.05; done", tree_.path("may-end")));
  for (std::size_t i = 0; i < ClaimPreparer::kMaxThreads; ++i) {
    listed_.push_back(test::Listed(Format("disk{}", i)));
  }
  Restart();
  std::size_t released = 0;
  for (std::size_t i = 0; i < ClaimPreparer::kMaxThreads; ++i) {
    const std::string name = Format("of-disk{}", i);
    Allocate(name, Format("disk{}", i));
    ASSERT_EQ(ErrorOf(name), "prepared");
    preparer_->Unprepare({Key(name)}, Call(), [&](const ClaimResults&) { ++released; });
  }
  Allocate("other", "b");
  EXPECT_EQ(ErrorOf("other"), "prepared");
  EXPECT_EQ(released, 0U);
  tree_.File("may-end");
  EXPECT_TRUE(loop_.RunUntil([&] { return released == ClaimPreparer::kMaxThreads; }));
}

TEST_F(ClaimReleaseTest, LogsThatTheReleaseFailedBeforeItReadTheFile) {
  tree_.Remove("data");
  tree_.File("data");
  const Status failed = Unprepare("one");
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message,
              AllOf(HasSubstr("ResourceClaim default/one: cannot lock "),
                    HasSubstr("the directory of the driver must be a writable directory")));
  EXPECT_THAT(text_.str(),
              AllOf(HasSubstr("releasing a claim failed"), Not(HasSubstr("preparing"))));
}

}  // namespace
}  // namespace patchbay
