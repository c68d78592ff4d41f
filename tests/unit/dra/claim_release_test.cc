#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <future>
#include <optional>

#include "base/format.h"
#include "unit/dra/claim_preparer_fixture.h"

namespace patchbay {
namespace {

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
