#include "status/transitions.h"

#include <gmock/gmock.h>

#include <utility>

#include "health/probe_scheduler.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Listed = std::vector<std::pair<std::string, std::string>>;  ///< ID and reason

const std::chrono::system_clock::time_point kThen{std::chrono::seconds(1700000000)};
const std::string kUnprobed(kNotProbedYet);
const auto kNone = std::optional<Health>();
const auto kGood = std::optional(Health::kHealthy);
const auto kBad = std::optional(Health::kUnhealthy);

/// A device with a reason is unhealthy.
Snapshot SnapshotOf(const Listed& devices) {
  auto spec = std::make_shared<ResourceSpec>();
  spec->name = "example.com/card";
  Snapshot snapshot;
  snapshot.spec = std::move(spec);
  for (const auto& [id, reason] : devices) {
    snapshot.devices.push_back({std::make_shared<const Device>(Device{id, {}, {}}),
                                reason.empty() ? Health::kHealthy : Health::kUnhealthy, reason});
  }
  return snapshot;
}

Transition Of(const std::string& device, std::optional<Health> from, std::optional<Health> to,
              const std::string& reason = "") {
  return {kThen, "example.com/card", device, from, to, reason};
}

std::vector<std::string> Devices(const TransitionHistory& history) {
  std::vector<std::string> devices;
  for (const auto& transition : history) devices.push_back(transition->device);
  return devices;
}

TEST(Transitions, FollowTheHealthOfADevice) {
  const struct {
    const char* what;
    Listed before, after;
    std::vector<Transition> expected;
  } kCases[] = {
      {"nothing changed", {{"a", ""}, {"b", "x"}}, {{"a", ""}, {"b", "x"}}, {}},
      {"it broke", {{"a", ""}}, {{"a", "no link"}}, {Of("a", kGood, kBad, "no link")}},
      {"it works again", {{"a", "no link"}}, {{"a", ""}}, {Of("a", kBad, kGood, "no link")}},
      {"another reason", {{"a", "no link"}}, {{"a", "too hot"}}, {}},
      {"new", {}, {{"a", ""}}, {Of("a", kNone, kGood)}},
      {"new and broken", {}, {{"a", "no link"}}, {Of("a", kNone, kBad, "no link")}},
      {"new and not probed yet", {}, {{"a", kUnprobed}}, {}},
      {"first probe succeeds", {{"a", kUnprobed}}, {{"a", ""}}, {Of("a", kNone, kGood)}},
      {"first probe fails", {{"a", kUnprobed}}, {{"a", "x"}}, {Of("a", kNone, kBad, "x")}},
      {"removed", {{"a", "gone"}}, {}, {Of("a", kBad, kNone, "gone")}},
      {"removed while healthy", {{"a", ""}}, {}, {Of("a", kGood, kNone)}},
      {"removed before a probe", {{"a", kUnprobed}}, {}, {}},
      {"several, in order of IDs",
       {{"a2", ""}, {"a10", ""}, {"b", "x"}},
       {{"a1", ""}, {"a2", "y"}, {"b", ""}},
       {Of("a1", kNone, kGood), Of("a2", kGood, kBad, "y"), Of("a10", kGood, kNone),
        Of("b", kBad, kGood, "x")}},
  };
  for (const auto& each : kCases) {
    const Snapshot before = SnapshotOf(each.before);
    EXPECT_EQ(TransitionsBetween(&before, SnapshotOf(each.after), kThen), each.expected)
        << each.what;
  }
}

TEST(Transitions, OfTheFirstListAreOnlyUnhealthyDevices) {
  EXPECT_THAT(
      TransitionsBetween(nullptr, SnapshotOf({{"a", ""}, {"b", "x"}, {"c", kUnprobed}}), kThen),
      ElementsAre(Of("b", kNone, kBad, "x")));
}

TEST(Transitions, OfOneChangeAreLimited) {
  Listed many;
  for (int i = 0; i < 5000; ++i) many.emplace_back("card" + std::to_string(i), "x");
  const auto transitions = TransitionsBetween(nullptr, SnapshotOf(many), kThen);
  ASSERT_EQ(transitions.size(), kMaxTransitions);
  EXPECT_EQ(transitions.back().device, "card4999");
}

TEST(TransitionHistory, KeepsTheLastOnes) {
  EXPECT_THAT(Extended({}, {}), IsEmpty());
  TransitionHistory history = Extended({}, {Of("a", kNone, kGood), Of("b", kNone, kGood)});
  EXPECT_THAT(Devices(history), ElementsAre("a", "b"));
  history = Extended(history, {Of("c", kNone, kGood)});
  EXPECT_THAT(Devices(history), ElementsAre("a", "b", "c"));
  for (int i = 0; i < 250; ++i) {
    history = Extended(history, {Of(std::to_string(i), kGood, kBad)});
    EXPECT_LE(history.size(), kMaxTransitions);
  }
  ASSERT_EQ(history.size(), kMaxTransitions);
  EXPECT_EQ(history.front()->device, "150");
  EXPECT_EQ(history.back()->device, "249");
}

TEST(TransitionHistory, DropsTheOldestOfTooManyAtOnce) {
  std::vector<Transition> many;
  for (int i = 0; i < 130; ++i) many.push_back(Of(std::to_string(i), kGood, kBad));
  const auto history = Extended(Extended({}, {Of("old", kGood, kBad)}), many);
  ASSERT_EQ(history.size(), kMaxTransitions);
  EXPECT_EQ(history.front()->device, "30");
}

}  // namespace
}  // namespace patchbay
