#include "health/probe_scheduler.h"

#include <gmock/gmock.h>

namespace patchbay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using Change = ProbeScheduler::Change;

std::shared_ptr<const Device> MakeDevice(const std::string& id, const std::string& path = "") {
  Device device{.id = id, .nodes = {}};
  device.nodes.push_back({.path = path.empty() ? "/dev/" + id : path, .real_path = ""});
  return std::make_shared<const Device>(std::move(device));
}

/// A probe with period 10 s, initial delay 5 s, failure_threshold 2 and success_threshold 1.
class ProbeSchedulerTest : public testing::Test {
 protected:
  ProbeSchedulerTest() {
    spec_.kind = OpenProbe{};
    spec_.period = seconds(10);
    spec_.initial_delay = seconds(5);
    spec_.failure_threshold = 2;
    Reset();
  }
  void Reset() { table_.emplace(spec_, 7); }

  void Set(const std::vector<std::string>& present, const std::vector<std::string>& gone = {}) {
    std::vector<ProbeScheduler::Presence> devices;
    devices.reserve(present.size() + gone.size());
    for (const auto& id : present) devices.push_back({MakeDevice(id), true});
    for (const auto& id : gone) devices.push_back({MakeDevice(id), false});
    table_->SetDevices(devices, now_);
  }
  std::vector<std::string> Due() {
    std::vector<std::string> ids;
    for (const auto& run : table_->TakeDue(now_)) {
      ids.push_back(run.device->id + (run.hang ? " hangs: " + *run.hang : ""));
      runs_[run.device->id] = run.number;
    }
    return ids;
  }
  std::vector<std::string> DueAfter(milliseconds time) {
    now_ += time;
    return Due();
  }
  Change Fail(const std::string& id, const std::string& reason = "broken") {
    return table_->Finish(id, runs_[id], {.result = ProbeResult::kFailure, .reason = reason}, now_);
  }
  Change Succeed(const std::string& id) {
    return table_->Finish(id, runs_[id], {.result = ProbeResult::kSuccess}, now_);
  }
  Change Hang(const std::string& id) {
    return table_->Finish(
        id, runs_[id], {.result = ProbeResult::kTimeout, .reason = "stuck", .hangs = true}, now_);
  }
  Change ComeBack(const std::string& id) {
    return table_->Finish(id, runs_[id], {.result = ProbeResult::kSuccess, .over = true}, now_);
  }
  /// The devices scheduled since the last call: "a +5s", or "a" if it is not probed any more.
  std::vector<std::string> Scheduled() {
    std::vector<std::string> texts;
    for (const auto& [id, due] : table_->TakeScheduled()) {
      texts.push_back(id);
      if (!due) continue;
      const auto in = std::chrono::round<seconds>(*due - now_).count();
      texts.back() += " +" + std::to_string(in) + "s";
    }
    return texts;
  }
  bool Healthy(const std::string& id) { return table_->HealthOf(id).health == Health::kHealthy; }

  ProbeSpec spec_;
  std::optional<ProbeScheduler> table_;
  std::map<std::string, std::uint64_t> runs_;  ///< the last of each device
  ProbeScheduler::Time now_ = ProbeScheduler::Time() + std::chrono::hours(1);
};

TEST_F(ProbeSchedulerTest, ProbesNewDevicesAfterInitialDelayAndJitter) {
  EXPECT_EQ(table_->NextDue(), std::nullopt);
  Set({"a"});
  const auto due = table_->NextDue();
  ASSERT_TRUE(due);
  EXPECT_GE(*due - now_, seconds(5));
  EXPECT_LE(*due - now_, seconds(6));
  EXPECT_THAT(DueAfter(milliseconds(4999)), IsEmpty());
  EXPECT_THAT(DueAfter(milliseconds(1001)), ElementsAre("a"));
  EXPECT_THAT(Due(), IsEmpty());
  EXPECT_EQ(table_->NextDue(), std::nullopt);  // nothing is due before it has ended
}

TEST_F(ProbeSchedulerTest, PeriodCountsFromTheStartOfTheLastProbe) {
  Set({"a"});
  DueAfter(seconds(6));
  const auto begun = now_;
  now_ += seconds(3);
  Succeed("a");
  ASSERT_TRUE(table_->NextDue());
  EXPECT_GE(*table_->NextDue() - begun, seconds(9));
  EXPECT_LE(*table_->NextDue() - begun, seconds(11));
  EXPECT_THAT(DueAfter(seconds(8)), ElementsAre("a"));
  now_ += seconds(60);  // it took longer than the period
  Succeed("a");
  EXPECT_THAT(Due(), ElementsAre("a"));
}

TEST_F(ProbeSchedulerTest, SpreadsTheFirstProbesOfManyDevices) {
  std::vector<std::string> ids;
  ids.reserve(100);
  for (int i = 0; i < 100; ++i) ids.push_back("d" + std::to_string(i));
  Set(ids);
  now_ += seconds(5);
  std::size_t seen = 0, most = 0;
  for (int tick = 0; tick < 100; ++tick) {
    const std::size_t due = DueAfter(milliseconds(10)).size();
    seen += due;
    most = std::max(most, due);
  }
  EXPECT_EQ(seen, 100U);
  EXPECT_LE(most, 10U);
}

TEST_F(ProbeSchedulerTest, ThresholdsDecideHealthAndLastFailureTheReason) {
  Set({"a", "b"});
  DueAfter(seconds(6));
  EXPECT_EQ(Fail("a", "one"), Change::kNothing);
  EXPECT_TRUE(Healthy("a"));
  DueAfter(seconds(11));
  EXPECT_EQ(Fail("a", "two"), Change::kHealth);
  EXPECT_EQ(table_->HealthOf("a"), (ProbeScheduler::DeviceHealth{Health::kUnhealthy, "two"}));
  DueAfter(seconds(11));
  EXPECT_EQ(Fail("a", "two"), Change::kNothing);
  DueAfter(seconds(11));
  EXPECT_EQ(Fail("a", "three"), Change::kReason);
  EXPECT_EQ(table_->HealthOf("a").reason, "three");
  DueAfter(seconds(11));
  EXPECT_EQ(Succeed("a"), Change::kHealth);
  EXPECT_EQ(table_->HealthOf("a"), ProbeScheduler::DeviceHealth());
  EXPECT_TRUE(Healthy("b"));
  EXPECT_TRUE(Healthy("unknown"));
}

TEST_F(ProbeSchedulerTest, TakesEachChangedDeviceOnce) {
  Set({"a", "b"});
  DueAfter(seconds(6));
  Fail("a");
  Succeed("b");
  EXPECT_THAT(table_->TakeChanged(), IsEmpty());
  DueAfter(seconds(11));
  Fail("a");
  EXPECT_THAT(table_->TakeChanged(), ElementsAre("a"));
  EXPECT_THAT(table_->TakeChanged(), IsEmpty());
}

TEST_F(ProbeSchedulerTest, ReportsTheConfiguredHealthBeforeTheFirstProbe) {
  spec_.before_first = Health::kUnhealthy;
  Reset();
  Set({"a"});
  EXPECT_FALSE(Healthy("a"));
  EXPECT_EQ(table_->HealthOf("a").reason, "it has not been probed yet");
  DueAfter(seconds(6));
  EXPECT_EQ(Succeed("a"), Change::kHealth);
}

TEST_F(ProbeSchedulerTest, ProbesAReturnedDeviceImmediately) {
  Set({"a", "b"});
  DueAfter(seconds(6));
  Fail("a"), Succeed("b");
  DueAfter(seconds(11));
  Fail("a"), Succeed("b");
  Set({"b"}, {"a"});
  EXPECT_THAT(DueAfter(seconds(11)), ElementsAre("b"));
  Succeed("b");
  EXPECT_FALSE(Healthy("a"));
  Set({"a", "b"});
  EXPECT_THAT(Due(), ElementsAre("a"));
  EXPECT_FALSE(Healthy("a"));  // until the first result
  EXPECT_EQ(Succeed("a"), Change::kHealth);
}

TEST_F(ProbeSchedulerTest, ProbesADeviceWithChangedNodesImmediately) {
  Set({"a"});
  DueAfter(seconds(6));
  Succeed("a");
  table_->SetDevices({{MakeDevice("a"), true}}, now_);
  EXPECT_THAT(Due(), IsEmpty());
  table_->SetDevices({{MakeDevice("a", "/dev/other"), true}}, now_);
  EXPECT_THAT(Due(), ElementsAre("a"));
}

TEST_F(ProbeSchedulerTest, RunsOneProbePerDeviceAtATime) {
  Set({"a"});
  DueAfter(seconds(6));
  // It is removed and added again, and dropped and found again, while its probe runs.
  Set({}, {"a"});
  Set({"a"});
  EXPECT_THAT(DueAfter(seconds(30)), IsEmpty());
  EXPECT_EQ(Fail("a"), Change::kNothing);
  EXPECT_THAT(Due(), ElementsAre("a"));  // immediately, because it is back
  Set({});
  EXPECT_THAT(DueAfter(seconds(30)), IsEmpty());
  Set({"a"});
  EXPECT_THAT(DueAfter(seconds(30)), IsEmpty());
  Fail("a");
  EXPECT_THAT(Due(), ElementsAre("a"));
}

TEST_F(ProbeSchedulerTest, IgnoresResultsForVanishedDevices) {
  spec_.failure_threshold = 1;
  Reset();
  Set({"a"});
  DueAfter(seconds(6));
  Set({}, {"a"});
  EXPECT_EQ(Fail("a"), Change::kNothing);
  EXPECT_TRUE(Healthy("a"));
  EXPECT_EQ(table_->NextDue(), std::nullopt);
  Set({"a"});
  Due();
  Set({});
  EXPECT_EQ(Fail("a"), Change::kNothing);
  EXPECT_TRUE(Healthy("a"));
  EXPECT_EQ(Fail("a"), Change::kNothing);  // an unknown device
}

TEST_F(ProbeSchedulerTest, CountsAFailurePerPeriodWhileAProbeHangs) {
  spec_.failure_threshold = 3;
  Reset();
  Set({"a"});
  DueAfter(seconds(6));
  EXPECT_EQ(Hang("a"), Change::kNothing);
  EXPECT_THAT(DueAfter(milliseconds(8900)), IsEmpty());
  EXPECT_THAT(DueAfter(milliseconds(2200)), ElementsAre("a hangs: stuck"));
  EXPECT_EQ(Hang("a"), Change::kNothing);
  EXPECT_TRUE(Healthy("a"));
  EXPECT_THAT(DueAfter(seconds(11)), ElementsAre("a hangs: stuck"));
  EXPECT_EQ(Hang("a"), Change::kHealth);
  EXPECT_EQ(table_->HealthOf("a"), (ProbeScheduler::DeviceHealth{Health::kUnhealthy, "stuck"}));
  EXPECT_THAT(DueAfter(seconds(11)), ElementsAre("a hangs: stuck"));
  EXPECT_EQ(Hang("a"), Change::kNothing);
}

TEST_F(ProbeSchedulerTest, ProbesAgainImmediatelyAfterAHangEnds) {
  spec_.failure_threshold = 1;
  Reset();
  Set({"a"});
  DueAfter(seconds(6));
  EXPECT_EQ(Hang("a"), Change::kHealth);
  now_ += seconds(1);
  EXPECT_EQ(ComeBack("a"), Change::kNothing);  // after the device was removed
  EXPECT_FALSE(Healthy("a"));
  EXPECT_THAT(Due(), ElementsAre("a"));
  EXPECT_EQ(Succeed("a"), Change::kHealth);
}

TEST_F(ProbeSchedulerTest, RemembersAHangOfAForgottenDevice) {
  Set({"a"});
  DueAfter(seconds(6));
  Hang("a");
  Set({});
  EXPECT_THAT(DueAfter(seconds(30)), IsEmpty());
  Set({"a"});
  EXPECT_THAT(DueAfter(seconds(6)), ElementsAre("a hangs: stuck"));
  EXPECT_EQ(Hang("a"), Change::kNothing);
  EXPECT_THAT(DueAfter(seconds(11)), ElementsAre("a hangs: stuck"));
  EXPECT_EQ(Hang("a"), Change::kHealth) << "two failures";
  Set({}, {"a"});
  EXPECT_THAT(DueAfter(seconds(30)), IsEmpty()) << "a removed device is not probed";
  EXPECT_EQ(ComeBack("a"), Change::kNothing);
  Set({"a"});
  EXPECT_THAT(Due(), ElementsAre("a"));
}

TEST_F(ProbeSchedulerTest, EndOfAHangOfAForgottenDeviceIsIgnored) {
  Set({"a"});
  DueAfter(seconds(6));
  Hang("a");
  Set({});
  EXPECT_EQ(ComeBack("a"), Change::kNothing);
  Set({"a"});
  EXPECT_THAT(DueAfter(seconds(6)), ElementsAre("a"));
}

/// Probes that end after the device has changed.
class StaleProbeResultTest : public ProbeSchedulerTest {
 protected:
  StaleProbeResultTest() {
    spec_.failure_threshold = 1;
    spec_.before_first = Health::kUnhealthy;
    Reset();
    Set({"a"});
    DueAfter(seconds(6));
  }
  void ExpectIgnoredAndProbedAgain() {
    EXPECT_EQ(Succeed("a"), Change::kNothing);
    EXPECT_FALSE(Healthy("a"));
    EXPECT_THAT(Due(), ElementsAre("a"));
    EXPECT_EQ(Succeed("a"), Change::kHealth);
  }
};

TEST_F(StaleProbeResultTest, IsIgnoredAfterTheDeviceReturned) {
  Set({}, {"a"});
  Set({"a"});
  ExpectIgnoredAndProbedAgain();
}

TEST_F(StaleProbeResultTest, IsIgnoredIfTheNodesChanged) {
  table_->SetDevices({{MakeDevice("a", "/dev/other"), true}}, now_);
  ExpectIgnoredAndProbedAgain();
}

TEST_F(StaleProbeResultTest, IsIgnoredAfterTheDeviceWasForgotten) {
  Set({});
  Set({"a"});
  now_ += seconds(6);
  ExpectIgnoredAndProbedAgain();
}

TEST_F(StaleProbeResultTest, CountsIfOnlyVariablesChanged) {
  Device device = *MakeDevice("a");
  device.nodes.front().values = {{"ID_MODEL", "x"}};
  device.numa_node = 1;
  table_->SetDevices({{std::make_shared<const Device>(device), true}}, now_);
  EXPECT_EQ(Succeed("a"), Change::kHealth);
}

TEST_F(StaleProbeResultTest, IsIgnoredIfItIsFromAnEarlierRun) {
  const std::uint64_t first = runs_["a"];
  Succeed("a");
  DueAfter(seconds(11));
  const ProbeOutcome failure{.result = ProbeResult::kFailure, .reason = "late"};
  EXPECT_EQ(table_->Finish("a", first, failure, now_), Change::kNothing);
  EXPECT_TRUE(Healthy("a"));
  EXPECT_EQ(Fail("a"), Change::kHealth) << "the running probe has not ended";
}

/// The state that remains when the probe changes.
class ChangedProbeTest : public ProbeSchedulerTest {
 protected:
  ChangedProbeTest() {
    Set({"good", "bad", "new"});
    DueAfter(seconds(6));
    Succeed("good");
    Fail("bad");
    DueAfter(seconds(11));
    Fail("bad");
  }
  void Change(Health before_first) {
    spec_.failure_threshold = 1;
    spec_.success_threshold = 2;
    spec_.before_first = before_first;
    table_->SetSpec(spec_, now_);
  }
};

TEST_F(ChangedProbeTest, KeepsHealthUntilTheNewProbeDecides) {
  EXPECT_FALSE(Healthy("bad"));
  Change(Health::kUnhealthy);
  EXPECT_TRUE(Healthy("good"));
  EXPECT_FALSE(Healthy("bad"));
  EXPECT_EQ(table_->HealthOf("bad").reason, "broken");
  EXPECT_FALSE(Healthy("new")) << "it had no result, only the health before the first one";
  // Soon, but not at the same time.
  EXPECT_THAT(DueAfter(seconds(1)), testing::UnorderedElementsAre("bad"))
      << "the others are still being probed with the previous probe";
  EXPECT_EQ(Succeed("bad"), ProbeScheduler::Change::kNothing) << "the threshold is two now";
}

TEST_F(ChangedProbeTest, KeepsHealthAcrossTwoChanges) {
  Change(Health::kHealthy);
  Change(Health::kHealthy);
  EXPECT_FALSE(Healthy("bad")) << "no probe has ended since";
  EXPECT_TRUE(Healthy("new"));
}

TEST_F(ChangedProbeTest, IgnoresResultsOfThePreviousProbe) {
  Change(Health::kHealthy);
  EXPECT_EQ(Fail("good"), ProbeScheduler::Change::kNothing);
  EXPECT_TRUE(Healthy("good"));
  EXPECT_THAT(DueAfter(seconds(1)), testing::UnorderedElementsAre("good", "bad"));
  EXPECT_EQ(Fail("good"), ProbeScheduler::Change::kHealth) << "the threshold is one now";
}

TEST_F(ChangedProbeTest, HangOfThePreviousProbeIsAFailure) {
  Hang("good");
  Change(Health::kHealthy);
  EXPECT_THAT(DueAfter(seconds(1)), testing::UnorderedElementsAre("bad", "good hangs: stuck"));
  EXPECT_EQ(Hang("good"), ProbeScheduler::Change::kHealth) << "the threshold is one now";
  EXPECT_EQ(ComeBack("good"), ProbeScheduler::Change::kNothing)
      << "the end of a hang is not a result";
  EXPECT_THAT(Due(), ElementsAre("good"));
}

TEST_F(ProbeSchedulerTest, ReportsWhenDevicesWillBeProbed) {
  spec_.period = seconds(1000);
  spec_.initial_delay = seconds(50000);
  Reset();
  EXPECT_THAT(Scheduled(), IsEmpty());
  Set({"a", "b"});
  const auto in_50000 = testing::MatchesRegex("[ab] .50[01][0-9][0-9]s");  // + up to 10 % of 1000 s
  EXPECT_THAT(Scheduled(), ElementsAre(in_50000, in_50000));
  EXPECT_THAT(Scheduled(), IsEmpty()) << "reported twice";
  Set({"a", "b"});
  EXPECT_THAT(Scheduled(), IsEmpty()) << "nothing changed";

  EXPECT_THAT(DueAfter(seconds(50100)), testing::UnorderedElementsAre("a", "b"));
  EXPECT_THAT(Scheduled(), IsEmpty()) << "a start is not a change";
  Succeed("a");
  EXPECT_THAT(Scheduled(), ElementsAre(testing::MatchesRegex("a .(9|10)[0-9][0-9]s")));
  Set({"b"}, {"a"});
  EXPECT_THAT(Scheduled(), ElementsAre("a"));
  Set({"a", "b"});
  EXPECT_THAT(Scheduled(), ElementsAre("a +0s"));
  Set({"a"});
  EXPECT_THAT(Scheduled(), ElementsAre("b")) << "removed during its probe";
  Succeed("b");
  EXPECT_THAT(Scheduled(), IsEmpty());
}

}  // namespace
}  // namespace patchbay
