#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "specs.h"
#include "support/fake_sysfs.h"

namespace patchbay {
namespace {

using test::Ids;
using test::Rejected;
using test::Resource;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A resource whose devices are the output of a script.
class CommandSourceTest : public testing::Test {
 protected:
  void Prints(const std::string& script) { tree_.File("list", "#!/bin/sh\n" + script + "\n"); }

  MatchSpec Match() const {
    MatchSpec match;
    match.source = CommandSource{{"/bin/sh", tree_.path("list")}, timeout_};
    match.type = NodeType::kAny;
    return match;
  }

  Discovery Find(bool refresh = true) {
    ScanRequest request{.refresh = refresh, .cache = cache_};
    return Discover(Resource({Match()}), HostRoot(tree_.path()), request);
  }

  std::chrono::milliseconds timeout_ = std::chrono::minutes(1);
  test::TempTree tree_;
  std::shared_ptr<ScanCache> cache_ = std::make_shared<ScanCache>();
};

TEST_F(CommandSourceTest, ListsThePrintedDevices) {
  tree_.File("dev/a");
  Prints(R"(echo '[{"id": "one", "paths": ["/dev/a"], "numa_node": 1, "vars": {"speed": 9600}},
                   {"id": "two"}]')");
  const Discovery found = Find();
  ASSERT_THAT(Ids(found), ElementsAre("one", "two"));
  EXPECT_EQ(found.devices[0].nodes.at(0).path, "/dev/a");
  EXPECT_EQ(found.devices[0].numa_node, 1);
  EXPECT_EQ(found.devices[0].values, (NamedValues{{"speed", "9600"}}));
  EXPECT_THAT(found.devices[1].nodes, IsEmpty());
  EXPECT_TRUE(found.complete);
}

TEST_F(CommandSourceTest, PrintedHealthIsThatOfTheDevice) {
  Prints(R"(echo '[{"id": "one", "vars": {"card": 1}}, {"id": "two", "vars": {"card": 2}},
                   {"id": "also-two", "vars": {"card": 2}, "healthy": false, "reason": "no link"}]')");
  EXPECT_THAT(Find().unusable, ElementsAre(testing::Pair("also-two", "no link")));
  const Discovery grouped =
      Discover(Resource({test::Grouped(Match(), "card")}), HostRoot(tree_.path()), "");
  EXPECT_THAT(grouped.unusable, ElementsAre(testing::Pair("2", "no link")));
}

TEST_F(CommandSourceTest, PrintedNumaNodeOverridesSysfs) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  test::FakeSysfs sysfs(tree_);
  sysfs.Device("/sys/devices/a", {.attributes = {{"numa_node", "0"}}});
  sysfs.Device("/sys/devices/a/tty/ttyS0", {.subsystem = "tty", .number = "4:64"});
  Prints(R"(echo '[{"id": "one", "paths": ["/dev/ttyS0"], "numa_node": 1},
                   {"id": "two", "paths": []}]')");
  EXPECT_EQ(Find().devices.at(0).numa_node, 1);
  Prints(R"(echo '[{"id": "one", "paths": ["/dev/ttyS0"]}]')");
  EXPECT_EQ(Find().devices.at(0).numa_node, 0);
}

TEST_F(CommandSourceTest, FailureKeepsTheLastListAndIsReported) {
  Prints(R"(echo '[{"id": "one"}]')");
  EXPECT_THAT(Ids(Find()), ElementsAre("one"));
  const std::pair<std::string, std::string> failures[] = {
      {"exit 3", "exit code 3"},
      {"echo not json", "JSON"},
      {"true", "print [] when there is no device; its last"},
      {"printf 'one\\ntool: \\033[2J\\n' >&2", "when there is no device: tool: \\x1b[2J; its last"},
      {"kill -9 $$", "signal"},
      {"sleep 60", "timed out after"},
      {"yes", "more than"},
      {"echo '[]' ; echo broken >&2 ; exit 1", "broken"},
  };
  for (const auto& [script, reason] : failures) {
    Prints(script);
    timeout_ = std::chrono::milliseconds(script.starts_with("sleep") ? 200 : 60'000);
    const Discovery found = Find();
    EXPECT_THAT(Ids(found), ElementsAre("one")) << script;
    EXPECT_FALSE(found.complete) << script;
    ASSERT_THAT(Rejected(found.rejected), ElementsAre("command_failed /bin/sh")) << script;
    EXPECT_THAT(found.rejected[0].detail, HasSubstr("last valid list")) << script;
    EXPECT_THAT(found.rejected[0].detail, HasSubstr(reason)) << script;
  }
  Prints("echo '[]'");
  const Discovery found = Find();
  EXPECT_THAT(found.devices, IsEmpty());
  EXPECT_THAT(found.rejected, IsEmpty());
}

TEST_F(CommandSourceTest, FirstFailureListsNothing) {
  const Discovery found = Find();
  EXPECT_THAT(found.devices, IsEmpty());
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("command_failed /bin/sh"));
}

TEST_F(CommandSourceTest, RunsOnlyIfARefreshIsRequested) {
  Prints("echo run >> " + tree_.path("runs") + "; echo '[{\"id\": \"one\"}]'");
  for (const bool refresh : {true, false, true, false}) {
    EXPECT_THAT(Ids(Find(refresh)), ElementsAre("one"));
  }
  std::ifstream runs(tree_.path("runs"));
  EXPECT_EQ(std::count(std::istreambuf_iterator<char>(runs), {}, '\n'), 2);
}

TEST_F(CommandSourceTest, ReportsTheLastFailureWithoutARun) {
  Prints("exit 1");
  Find();
  EXPECT_THAT(Find(false).rejected, SizeIs(1));
}

TEST_F(CommandSourceTest, InvalidEntryDoesNotAffectOthers) {
  tree_.File("dev/a");
  tree_.File("dev/x");
  Prints(R"(echo '[{"id": "good", "paths": ["/dev/a"]}, {"paths": []}, {"id": "gone",
    "paths": ["/dev/b"]}, {"id": "odd", "speed": 1}, {"id": "same"}, {"id": "same"}]')");
  const Discovery found = Find();
  EXPECT_THAT(Ids(found), ElementsAre("good"));
  EXPECT_THAT(Rejected(found.rejected),
              ElementsAre("command_failed /bin/sh", "command_failed odd", "duplicate_id same",
                          "duplicate_id same", "incomplete gone"));
}

TEST_F(CommandSourceTest, GroupsByPrintedVariables) {
  Prints(R"(echo '[{"id": "a", "vars": {"card": 1}}, {"id": "b", "vars": {"card": 1}}]')");
  const Discovery found =
      Discover(Resource({test::Grouped(Match(), "card")}), HostRoot(tree_.path()), "");
  EXPECT_THAT(Ids(found), ElementsAre("1"));
}

TEST_F(CommandSourceTest, ExcludedPathExcludesItsDevice) {
  for (const std::string node : {"a", "b", "c"}) tree_.File("srv/" + node);
  Prints(R"(echo '[{"id": "a", "paths": ["/srv/a"], "vars": {"card": 1}},
                   {"id": "b", "paths": ["/srv/b"], "vars": {"card": 1}},
                   {"id": "c", "paths": ["/srv/c"], "vars": {"card": 2}}]')");
  MatchSpec match = test::Without(Match(), "/srv/b");
  match.type = NodeType::kFile;
  const auto find = [&](const MatchSpec& m) {
    return Discover(Resource({m}), HostRoot(tree_.path()), "");
  };
  EXPECT_THAT(Ids(find(match)), ElementsAre("a", "c"));
  EXPECT_THAT(find(match).rejected, testing::IsEmpty());
  EXPECT_THAT(Ids(find(test::Grouped(match, "card"))), ElementsAre("2"));
}

TEST_F(CommandSourceTest, CancellationStopsTheCommand) {
  Prints("exec sleep 60");
  auto cancellation = Cancellation::Create();
  ASSERT_TRUE(cancellation);
  cancellation->Trigger();
  ScanRequest request;
  request.cancellation = std::make_shared<const Cancellation>(std::move(*cancellation));
  const Discovery found = Discover(Resource({Match()}), HostRoot(tree_.path()), request);
  EXPECT_THAT(Rejected(found.rejected), ElementsAre("command_failed /bin/sh"));
}

}  // namespace
}  // namespace patchbay
