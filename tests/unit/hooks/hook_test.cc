#include "hooks/hook.h"

#include <gmock/gmock.h>

#include "base/format.h"
#include "inventory/replica_ids.h"
#include "support/leftovers.h"
#include "support/temp_tree.h"
#include "unit/discovery/specs.h"

namespace patchbay {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

HookSpec MakeHook(const std::vector<std::string_view>& argv) {
  HookSpec hook;
  for (const auto argument : argv) hook.argv.push_back(test::MakeTemplate(argument));
  hook.timeout = seconds(7);
  return hook;
}

/// Plans hooks of a resource with the disks sda and sdb.
class PlanHookTest : public testing::Test {
 protected:
  Result<HookCall> Plan(Hook hook, const std::vector<std::string>& ids) const {
    Snapshot snapshot{std::make_shared<const ResourceSpec>(spec_), 1, {}, {}};
    for (const std::string id : {"sda", "sdb"}) {
      Device device{.id = id, .nodes = {}, .values = {{"bay", "7"}}};
      device.nodes.push_back({.path = "/dev/" + id, .real_path = "/dev/" + id});
      snapshot.devices.push_back({std::make_shared<const Device>(device), Health::kHealthy, ""});
    }
    const std::vector<Unit> units = TRY(FindUnits(snapshot, ids, "node-1"));
    std::vector<Variables> variables;
    for (const Unit& unit : units) variables.push_back(unit.variables);
    return PlanHook(hook, spec_, variables);
  }

  ResourceSpec spec_ = test::Resource({test::CountMatch(1)});
};

TEST_F(PlanHookTest, RunsTheProgramOncePerUnitInIdOrder) {
  spec_.pre_start = MakeHook({"/bin/wipe", "{path}", "{slot}", "{bay}", "{node_name} {resource}"});
  const auto call = Plan(Hook::kPreStart, {"sdb", "sda", "sdb"});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->hook, Hook::kPreStart);
  EXPECT_EQ(call->timeout, seconds(7));
  EXPECT_THAT(call->devices, ElementsAre("sda", "sdb"));
  ASSERT_THAT(call->commands, SizeIs(2));
  EXPECT_EQ(call->commands[0].id, "sda");
  EXPECT_THAT(call->commands[0].argv,
              ElementsAre("/bin/wipe", "/dev/sda", "0", "7", "node-1 example.com/thing"));
  EXPECT_THAT(call->commands[1].argv,
              ElementsAre("/bin/wipe", "/dev/sdb", "1", "7", "node-1 example.com/thing"));
}

TEST_F(PlanHookTest, RunsEqualCommandsOnce) {
  spec_.allocate = MakeHook({"/bin/claim", "{bay}"});
  const auto call = Plan(Hook::kAllocate, {"sda", "sdb"});
  ASSERT_TRUE(call);
  ASSERT_THAT(call->commands, SizeIs(1));
  EXPECT_EQ(call->commands[0].id, "sda");
  EXPECT_THAT(call->devices, ElementsAre("sda", "sdb"));
}

TEST_F(PlanHookTest, ReplicasOfADeviceAreOneDevice) {
  spec_.replicas = 3;
  spec_.pre_start = MakeHook({"/bin/wipe", "{id}", "{replica}"});
  const auto call = Plan(Hook::kPreStart, {"sda::2", "sda::0"});
  ASSERT_TRUE(call);
  EXPECT_THAT(call->devices, ElementsAre("sda"));
  ASSERT_THAT(call->commands, SizeIs(2));
  EXPECT_THAT(call->commands[1].argv, ElementsAre("/bin/wipe", "sda::2", "2"));
}

TEST_F(PlanHookTest, RunsNothingWithoutAHook) {
  spec_.release = MakeHook({"/bin/wipe"});
  const auto call = Plan(Hook::kPreStart, {"sda"});
  ASSERT_TRUE(call);
  EXPECT_THAT(call->commands, IsEmpty());
  EXPECT_THAT(call->devices, ElementsAre("sda"));
  EXPECT_EQ(call->patience, seconds(27));  // the limit for the release hook
}

TEST_F(PlanHookTest, LimitsTheWaitForPreStartAndAllocate) {
  spec_.pre_start = spec_.allocate = spec_.release = MakeHook({"/bin/true"});
  EXPECT_EQ(Plan(Hook::kPreStart, {"sda"})->patience, seconds(27));
  EXPECT_EQ(Plan(Hook::kAllocate, {"sda"})->patience, seconds(7));
  EXPECT_EQ(Plan(Hook::kRelease, {"sda"})->patience, std::nullopt);
}

TEST_F(PlanHookTest, RejectsUnknownIds) {
  spec_.pre_start = MakeHook({"/bin/wipe"});
  const auto call = Plan(Hook::kPreStart, {"sda", "sdx"});
  ASSERT_FALSE(call);
  EXPECT_EQ(call.error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(call.error().message, HasSubstr("no device \"sdx\""));
}

TEST_F(PlanHookTest, NamesTheBlockDevicesOfAHookThatExists) {
  Device disk{.id = "sda", .nodes = {}};
  disk.nodes.push_back({.path = "/dev/sda", .real_path = "/dev/sda", .type = FileType::kBlock});
  disk.nodes.push_back({.path = "/dev/sg0", .real_path = "/dev/sg0", .type = FileType::kCharacter});
  const Variables variables = VariablesOf(disk);
  EXPECT_THAT(PlanHook(Hook::kRelease, spec_, {&variables, 1})->disks, IsEmpty());
  spec_.release = MakeHook({"/bin/wipe"});
  const auto call = PlanHook(Hook::kRelease, spec_, {&variables, 1});
  ASSERT_THAT(call->disks, SizeIs(1));
  EXPECT_EQ(call->disks[0].node, disk.nodes[0]);
}

TEST_F(PlanHookTest, RejectsMissingVariables) {
  spec_.pre_start = MakeHook({"/bin/wipe", "{shelf}"});
  const auto call = Plan(Hook::kPreStart, {"sda"});
  ASSERT_FALSE(call);
  EXPECT_EQ(call.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(call.error().message, HasSubstr("shelf"));
}

class RunHookTest : public testing::Test {
 protected:
  HookOutcome Run(const std::vector<std::string>& scripts, std::chrono::milliseconds timeout) {
    HookCall call;
    call.resource = "example.com/d";
    call.timeout = timeout;
    for (const std::string& script : scripts) {
      call.commands.push_back({Format("d{}", call.commands.size()), {"/bin/sh", "-c", script}});
    }
    return RunHook(call, std::chrono::steady_clock::now() + timeout, cancellation_);
  }
  HookOutcome Run(const std::vector<std::string>& scripts) { return Run(scripts, seconds(60)); }

  void TearDown() override {
    test::Leftovers::ReapOrphans();
    leftovers_.ExpectNone();
  }

  test::TempTree tree_;
  const Cancellation cancellation_ = Cancellation::Create().value();
  const test::Leftovers leftovers_;
};

TEST_F(RunHookTest, RunsCommandsConcurrently) {
  // Each waits for the other to open the pipe.
  const std::string pipe = tree_.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(Run({"echo x > " + pipe, "read x < " + pipe}).status);
}

TEST_F(RunHookTest, FailureContainsTheDeviceAndTheOutput) {
  const auto outcome = Run({"true", "echo disk is >&2; echo busy >&2; exit 3", "exit 4"});
  ASSERT_FALSE(outcome.status);
  EXPECT_EQ(outcome.status.error().kind, ErrorKind::kPrecondition);
  EXPECT_EQ(outcome.status.error().message, "/bin/sh ended with exit code 3: disk is; busy");
  EXPECT_EQ(outcome.id, "d1");
}

TEST_F(RunHookTest, StartsNoCommandAfterAFailure) {
  std::vector<std::string> scripts(16, "exit 1");  // as many as run at once
  scripts.push_back(": > " + tree_.path("begun"));
  ASSERT_FALSE(Run(scripts).status);
  EXPECT_FALSE(std::filesystem::exists(tree_.path("begun")));
}

TEST_F(RunHookTest, StopsAllCommandsAtTheDeadline) {
  const auto outcome = Run({"sleep 3600", "trap '' TERM; sleep 3600"}, seconds(1));
  ASSERT_FALSE(outcome.status);
  EXPECT_THAT(outcome.status.error().message, HasSubstr("timed out after "));
  EXPECT_THAT(outcome.left_behind, IsEmpty());
}

TEST_F(RunHookTest, ReportsWhyAProgramCannotRun) {
  HookCall call;
  const auto run = [&](std::vector<std::string> argv) {
    call.commands = {{"d0", std::move(argv)}};
    call.timeout = seconds(60);
    const auto outcome =
        RunHook(call, std::chrono::steady_clock::now() + call.timeout, cancellation_);
    return outcome.status ? "" : outcome.status.error().message;
  };
  tree_.File("plain", "not a program");
  EXPECT_THAT(run({tree_.path("missing")}), HasSubstr("No such file"));
  EXPECT_THAT(run({tree_.path("plain")}), HasSubstr("Permission denied"));
  EXPECT_THAT(run({""}), HasSubstr("cannot run"));
  EXPECT_EQ(run({"/bin/true", "", std::string(100'000, 'x')}), "");
  EXPECT_THAT(run({"/bin/true", std::string(1 << 20, 'x')}), HasSubstr("too long"));
  EXPECT_THAT(run({"/bin/sh", "-c", "kill -SEGV $$"}), HasSubstr("signal 11"));
}

}  // namespace
}  // namespace patchbay
