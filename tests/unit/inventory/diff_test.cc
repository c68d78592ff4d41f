#include "inventory/diff.h"

#include <gmock/gmock.h>

#include "health/probe_scheduler.h"

namespace patchbay {
namespace {

using Kind = Change::Kind;
using testing::ElementsAre;
using testing::IsEmpty;

ListedDevice Listed(const std::string& id, Health health = Health::kHealthy,
                    const std::string& reason = "") {
  return {std::make_shared<const Device>(Device{id, {}, {}}), health, reason};
}

Snapshot Of(std::vector<ListedDevice> devices, std::vector<Rejection> rejected = {}) {
  return {nullptr, 1, std::move(devices), std::move(rejected), false};
}

TEST(Diff, ReportsEverythingForTheFirstSnapshot) {
  const Rejection rejection{"/dev/x", RejectReason::kBadName, "not text"};
  EXPECT_THAT(Diff(nullptr, Of({Listed("a"), Listed("b")}, {rejection})),
              ElementsAre(Change{Kind::kAppeared, "a", ""}, Change{Kind::kAppeared, "b", ""},
                          Change{Kind::kRejected, "/dev/x", "bad_name: not text"}));
}

TEST(Diff, ReportsNewUnhealthyDevicesAsAppearedAndUnhealthy) {
  EXPECT_THAT(Diff(nullptr, Of({Listed("a", Health::kUnhealthy, "no /dev/control"),
                                Listed("b", Health::kUnhealthy, std::string(kNotProbedYet))})),
              ElementsAre(Change{Kind::kAppeared, "a", ""},
                          Change{Kind::kUnhealthy, "a", "no /dev/control"},
                          Change{Kind::kAppeared, "b", ""}));
}

TEST(ProblemsAtStart, OmitsOnlyThatDevicesAppeared) {
  Snapshot first = Of({Listed("a", Health::kUnhealthy, "no /dev/control"), Listed("b"),
                       Listed("c", Health::kUnhealthy, std::string(kNotProbedYet))},
                      {{"/dev/x", RejectReason::kBadName, "not text"}});
  first.missing_mounts = {{"/opt/lib", "it is missing"}};
  auto all = Diff(nullptr, first);
  std::erase_if(all, [](const Change& change) { return change.kind == Kind::kAppeared; });
  EXPECT_EQ(ProblemsAtStart(first), all);
  EXPECT_EQ(all.size(), 3U);
}

TEST(Diff, ReportsAMissingMountOnce) {
  const Snapshot before = Of({Listed("a")});
  Snapshot after = before;
  after.missing_mounts = {{"/opt/firmware", "nothing there"}};
  EXPECT_THAT(Diff(&before, after),
              ElementsAre(Change{Kind::kMissingMount, "/opt/firmware", "nothing there"}));
  EXPECT_THAT(Diff(&after, after), IsEmpty());
  EXPECT_THAT(Diff(&after, before), IsEmpty());
}

TEST(Diff, ReportsANoteOnce) {
  const Snapshot before = Of({Listed("a")});
  Snapshot after = before;
  after.notes = {{"a", "group is root"}};
  EXPECT_THAT(Diff(&before, after), ElementsAre(Change{Kind::kNote, "a", "group is root"}));
  EXPECT_EQ(Diff(&before, after), ProblemsAtStart(after));
}

TEST(Diff, ReportsAnUnusedExcludeOnce) {
  const Snapshot before = Of({Listed("a")});
  Snapshot after = before;
  after.unused_excludes = {{0, "/dev/sytem"}};
  EXPECT_THAT(Diff(&before, after),
              ElementsAre(Change{Kind::kUnusedExclude, "/dev/sytem",
                                 std::string(after.unused_excludes[0].reason())}));
  EXPECT_EQ(ProblemsAtStart(after), Diff(&before, after));
  EXPECT_THAT(Diff(&after, after), IsEmpty());
  EXPECT_THAT(Diff(&after, before), IsEmpty());
}

TEST(Diff, ReportsAnIdThatMovedToOtherHardware) {
  const auto linked = [](const std::string& link, unsigned minor, bool is_missing = false) {
    const std::string real = "/dev/ttyUSB" + std::to_string(minor);
    ListedDevice listed{std::make_shared<const Device>(
                            Device{"stick", {{link, real, FileType::kCharacter, 188, minor}}, {}}),
                        Health::kHealthy, ""};
    listed.is_missing = is_missing;
    return listed;
  };
  const std::string link = "/dev/serial/by-id/stick";
  const Snapshot zero = Of({linked(link, 0)}), one = Of({linked(link, 1)});
  EXPECT_THAT(Diff(&zero, one),
              ElementsAre(Change{Kind::kMoved, "stick",
                                 "/dev/serial/by-id/stick led to /dev/ttyUSB0 (188:0) and leads to "
                                 "/dev/ttyUSB1 (188:1) now"}));
  EXPECT_THAT(Diff(&zero, zero), IsEmpty());
  // It was plugged in again, or the node has its own name.
  const Snapshot gone = Of({linked(link, 0, true)});
  EXPECT_THAT(Diff(&gone, one), IsEmpty());
  const Snapshot by_name = Of({linked("/dev/ttyUSB0", 0)});
  EXPECT_THAT(Diff(&by_name, by_name), IsEmpty());
}

TEST(Diff, IsEmptyForEqualSnapshots) {
  const Snapshot snapshot = Of({Listed("a"), Listed("b", Health::kUnhealthy, "gone")},
                               {{"/dev/x", RejectReason::kLimit, ""}});
  EXPECT_THAT(Diff(&snapshot, snapshot), IsEmpty());
}

TEST(Diff, ReportsAppearedForgottenAndHealthChanges) {
  const Snapshot before = Of({Listed("a1"), Listed("a2"), Listed("a9"), Listed("b")});
  const Snapshot after =
      Of({Listed("a2", Health::kUnhealthy, "gone"), Listed("a9"), Listed("a10"), Listed("b")});
  EXPECT_THAT(Diff(&before, after), ElementsAre(Change{Kind::kForgotten, "a1", ""},
                                                Change{Kind::kUnhealthy, "a2", "gone"},
                                                Change{Kind::kAppeared, "a10", ""}));
  EXPECT_THAT(Diff(&after, before),
              ElementsAre(Change{Kind::kAppeared, "a1", ""}, Change{Kind::kHealthy, "a2", ""},
                          Change{Kind::kForgotten, "a10", ""}));
}

TEST(Diff, ReportsTheFirstProbeFailure) {
  const Snapshot before = Of({Listed("a", Health::kUnhealthy, std::string(kNotProbedYet)),
                              Listed("b", Health::kUnhealthy, "no link")});
  const Snapshot after = Of(
      {Listed("a", Health::kUnhealthy, "no card"), Listed("b", Health::kUnhealthy, "no carrier")});
  EXPECT_THAT(Diff(&before, after), ElementsAre(Change{Kind::kUnhealthy, "a", "no card"}));
}

TEST(Diff, ReportsARejectionOnce) {
  const Snapshot before = Of({}, {{"/dev/x", RejectReason::kLimit, "1"}});
  const Snapshot after =
      Of({}, {{"/dev/x", RejectReason::kLimit, "2"}, {"/dev/x", RejectReason::kBadName, "3"}});
  EXPECT_THAT(Diff(&before, after), ElementsAre(Change{Kind::kRejected, "/dev/x", "bad_name: 3"}));
  EXPECT_THAT(Diff(&after, before), IsEmpty());
}

TEST(Diff, ReportsOnceThatAPathIsNoLongerRejected) {
  const Snapshot before =
      Of({}, {{"/dev/x", RejectReason::kLimit, "1"}, {"/dev/x", RejectReason::kBadName, "2"}});
  EXPECT_THAT(Diff(&before, Of({Listed("a")})),
              ElementsAre(Change{Kind::kAppeared, "a", ""}, Change{Kind::kAccepted, "/dev/x", ""}));
}

}  // namespace
}  // namespace patchbay
