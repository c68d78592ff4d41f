#include "dra/restart_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

TEST(RestartFor, FollowsTheSocketThatWasLost) {
  const SocketIds created{"dra 1", "reg 1"};
  EXPECT_EQ(RestartFor(created, created), Restart::kNone);
  EXPECT_EQ(RestartFor(created, {"dra 1", std::nullopt}), Restart::kRegistration);
  EXPECT_EQ(RestartFor(created, {"dra 1", "reg 2"}), Restart::kRegistration) << "replaced";
  EXPECT_EQ(RestartFor(created, {std::nullopt, "reg 1"}), Restart::kBoth);
  EXPECT_EQ(RestartFor(created, {"dra 2", "reg 1"}), Restart::kBoth);
  EXPECT_EQ(RestartFor(created, {std::nullopt, std::nullopt}), Restart::kBoth);
}

TEST(RestartFor, DetectsSocketsThatWereLostBeforeTheyWereIdentified) {
  EXPECT_EQ(RestartFor({std::nullopt, "reg 1"}, {std::nullopt, "reg 1"}), Restart::kBoth);
  EXPECT_EQ(RestartFor({"dra 1", std::nullopt}, {"dra 1", std::nullopt}), Restart::kRegistration);
}

TEST(RestartPause, GrowsWithEachFailure) {
  RestartPause pause;
  std::vector<std::chrono::seconds> pauses;
  for (int i = 0; i < 9; ++i) pauses.push_back(pause.OnFailure({}));
  EXPECT_THAT(pauses, ElementsAre(0s, 1s, 2s, 4s, 8s, 16s, 30s, 30s, 30s));
}

TEST(RestartPause, BeginsAgainAfterSocketsThatLasted) {
  RestartPause pause;
  RestartPause::Time now{};
  EXPECT_EQ(pause.OnFailure(now), 0s);
  EXPECT_EQ(pause.OnFailure(now), 1s);
  pause.OnStarted(now);
  EXPECT_EQ(pause.OnFailure(now + 9s), 2s) << "deleted again and again";
  pause.OnStarted(now + 20s);
  EXPECT_EQ(pause.OnFailure(now + 30s), 0s);
  EXPECT_EQ(pause.OnFailure(now + 60s), 1s) << "it did not start";
}

}  // namespace
}  // namespace patchbay
