#include "hooks/release_tracker.h"

#include <gmock/gmock.h>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Holder Pod(const std::string& name) { return {"ns", name, "c"}; }

/// Consecutive reports of one run of the kubelet.
class ReleaseTrackerTest : public testing::Test {
 protected:
  /// Returns what is released after this report.
  std::vector<std::string> Take(DeviceHolders holders) {
    return tracker_.Update({std::move(holders), complete_, kubelet_}).released;
  }

  ReleaseTracker tracker_;
  std::string kubelet_ = "run 1";
  bool complete_ = true;
};

TEST_F(ReleaseTrackerTest, ReleasesUnusedDevicesOnce) {
  EXPECT_THAT(Take({{"a", {Pod("p")}}, {"b", {Pod("p")}}, {"c", {Pod("q")}}}), IsEmpty());
  EXPECT_THAT(Take({{"c", {Pod("q")}}}), ElementsAre("a", "b"));
  EXPECT_THAT(Take({{"c", {Pod("q")}}}), IsEmpty());
  EXPECT_THAT(Take({}), ElementsAre("c"));
  EXPECT_THAT(Take({}), IsEmpty());
}

TEST_F(ReleaseTrackerTest, KeepsDevicesUntilTheLastHolderEnds) {
  EXPECT_THAT(Take({{"a", {Pod("p"), Pod("q")}}}), IsEmpty());
  EXPECT_THAT(Take({{"a", {Pod("q"), Pod("r")}}}), IsEmpty());
  EXPECT_THAT(Take({{"a", {Pod("r")}}}), IsEmpty());
  EXPECT_THAT(Take({}), ElementsAre("a"));
}

TEST_F(ReleaseTrackerTest, ReleasesBeforeTheNextHolderStarts) {
  Take({{"a", {Pod("p")}}});
  EXPECT_THAT(Take({{"a", {Pod("q")}}}), ElementsAre("a"));
  EXPECT_THAT(Take({{"a", {Pod("q")}}}), IsEmpty());
}

TEST_F(ReleaseTrackerTest, DoesNotReleaseAfterAnUnverifiedStart) {
  Take({{"a", {Pod("p")}}, {"b", {Pod("p")}}});
  tracker_.OnUnverifiedStart("a");
  tracker_.OnUnverifiedStart("b");
  const auto decision = tracker_.Update({{{"a", {Pod("q")}}}, true, kubelet_});
  EXPECT_THAT(decision.missed, ElementsAre("a", "b"));  // an init container may have "b"
  EXPECT_THAT(decision.released, IsEmpty());
  // The next report resets that.
  EXPECT_THAT(Take({{"a", {Pod("r")}}}), ElementsAre("a"));
}

TEST_F(ReleaseTrackerTest, IgnoresMissingHoldersAfterAKubeletRestart) {
  Take({{"a", {Pod("p")}}, {"b", {Pod("q")}}});
  kubelet_ = "run 2";
  EXPECT_THAT(Take({}), IsEmpty());
  EXPECT_THAT(Take({{"a", {Pod("p")}}}), IsEmpty());
  EXPECT_THAT(Take({{"b", {Pod("r")}}}), ElementsAre("a"));
  EXPECT_THAT(Take({}), ElementsAre("b"));
}

TEST_F(ReleaseTrackerTest, KeepsHoldersMissingFromTruncatedResponse) {
  Take({{"a", {Pod("p")}}, {"b", {Pod("p")}}, {"c", {Pod("p")}}});
  complete_ = false;
  EXPECT_THAT(Take({{"b", {Pod("p")}}, {"c", {Pod("q")}}}), IsEmpty());
  complete_ = true;
  EXPECT_THAT(Take({{"b", {Pod("p")}}, {"c", {Pod("q")}}}), ElementsAre("a"));
  EXPECT_THAT(Take({}), ElementsAre("b", "c"));
}

}  // namespace
}  // namespace patchbay
