#include "health/probe.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/temp_tree.h"

namespace patchbay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Template MakeTemplate(std::string_view text) { return Template::Compile(text).value(); }

/// Probes of a device "d7" with one node, /dev/d7 of a host tree.
class ProbeTest : public testing::Test {
 protected:
  ProbeTest() { device_.nodes.push_back({.path = "/dev/d7", .real_path = "/dev/d7"}); }

  ProbeOutcome Run(ProbeKind kind) {
    ProbeSpec spec;
    spec.kind = std::move(kind);
    spec.timeout = timeout_;
    return RunProbe(spec, device_, {"example.com/d", "node-1", HostRoot(tree_.path()), cancel_});
  }
  ProbeOutcome Command(const std::vector<std::string_view>& argv) {
    CommandProbe probe;
    for (const auto argument : argv) probe.argv.push_back(MakeTemplate(argument));
    return Run(std::move(probe));
  }
  ProbeOutcome Shell(std::string_view script) { return Command({"/bin/sh", "-c", script}); }
  ProbeOutcome FileIs(std::string_view path, std::string wanted) {
    return Run(FileProbe{MakeTemplate(path), std::move(wanted)});
  }
  ProbeOutcome FileMatches(std::string_view path, std::string_view pattern) {
    return Run(FileProbe{MakeTemplate(path), TextPattern::Compile(pattern).value()});
  }

  test::TempTree tree_;
  Device device_{.id = "d7", .nodes = {}, .values = {{"serial", "A9"}}};
  milliseconds timeout_ = seconds(20);
  std::shared_ptr<const Cancellation> cancel_ =
      std::make_shared<const Cancellation>(Cancellation::Create().value());
};

TEST_F(ProbeTest, CommandSucceedsWithExitCodeZero) {
  const ProbeOutcome outcome = Shell("echo fine; echo hm >&2");
  EXPECT_EQ(outcome.result, ProbeResult::kSuccess);
  EXPECT_EQ(outcome.reason, "");
  EXPECT_EQ(outcome.output, "hm\nfine\n");
  EXPECT_GT(outcome.took.count(), 0);
}

TEST_F(ProbeTest, CommandReceivesVariablesOfTheDevice) {
  const ProbeOutcome outcome = Command({"/bin/echo", "{id}", "{path}", "{name}", "{serial}",
                                        "{resource}", "{node_name}", "{{}} $HOME *"});
  EXPECT_EQ(outcome.output, "d7 /dev/d7 d7 A9 example.com/d node-1 {} $HOME *\n");
}

TEST_F(ProbeTest, FailureReasonContainsTheFirstLinesOfTheOutput) {
  const ProbeOutcome outcome = Shell("echo ' no card '; echo; printf 'see\\tdmesg'; exit 3");
  EXPECT_EQ(outcome.result, ProbeResult::kFailure);
  EXPECT_EQ(outcome.reason, "/bin/sh ended with exit code 3:  no card; see\\x09dmesg");
  EXPECT_EQ(Shell("exit 1").reason, "/bin/sh ended with exit code 1");
}

TEST_F(ProbeTest, CommandKilledByASignalFails) {
  const ProbeOutcome outcome = Shell("kill -SEGV $$");
  EXPECT_EQ(outcome.result, ProbeResult::kFailure);
  EXPECT_THAT(outcome.reason, HasSubstr("signal 11"));
}

TEST_F(ProbeTest, CommandTimesOut) {
  timeout_ = milliseconds(100);
  const ProbeOutcome outcome = Shell("echo begun; sleep 1000");
  EXPECT_EQ(outcome.result, ProbeResult::kTimeout);
  EXPECT_THAT(outcome.reason, AllOf(HasSubstr("timed out after 100 ms"), HasSubstr("begun")));
}

TEST_F(ProbeTest, ReportsAnErrorForCommandsThatCannotRun) {
  tree_.File("not-executable");
  const std::string file = tree_.path("not-executable");
  for (const std::string& program : {std::string("/no/such/program"), file, std::string()}) {
    const ProbeOutcome outcome = Command({program});
    EXPECT_EQ(outcome.result, ProbeResult::kError) << program;
    EXPECT_NE(outcome.reason, "");
  }
  EXPECT_THAT(Command({"/no/such/program"}).reason, HasSubstr("/no/such/program"));
  // Rendered: an argument longer than the kernel takes, and a variable that the device lacks.
  device_.values = {{"serial", std::string(5000, 'x')}};
  EXPECT_EQ(Command({"/bin/true", "{serial}"}).result, ProbeResult::kError);
  EXPECT_EQ(Command({"/bin/true", "{nothing}"}).result, ProbeResult::kError);
}

TEST_F(ProbeTest, TruncatesOutput) {
  const ProbeOutcome outcome = Shell("head -c 100000000 /dev/zero; exit 1");
  EXPECT_EQ(outcome.result, ProbeResult::kFailure);
  EXPECT_EQ(outcome.output.size(), 4096U);
  EXPECT_LE(outcome.reason.size(), 2500U);
}

TEST_F(ProbeTest, OpenSucceedsIfEveryNodeOpens) {
  tree_.NullDevice("dev/d7");
  EXPECT_EQ(Run(OpenProbe{}).result, ProbeResult::kSuccess);
  device_.nodes.push_back({.path = "/dev/e", .real_path = "/dev/e"});
  const ProbeOutcome outcome = Run(OpenProbe{});
  EXPECT_EQ(outcome.result, ProbeResult::kFailure);
  EXPECT_EQ(outcome.reason, "cannot open /dev/e: No such file or directory");
}

TEST_F(ProbeTest, OpenFailsForANodeWithoutDriver) {
  tree_.CharDevice("dev/d7", 240, 7);  // of the range for local use
  const ProbeOutcome outcome = Run(OpenProbe{});
  EXPECT_EQ(outcome.result, ProbeResult::kFailure);
  EXPECT_THAT(outcome.reason, HasSubstr("No such device"));
}

TEST_F(ProbeTest, OpenReportsMissingPermissionWithAHint) {
  tree_.NullDevice("dev/d7");
  ASSERT_EQ(chmod(tree_.path("dev/d7").c_str(), 0), 0);
  ASSERT_EQ(chmod(tree_.path().c_str(), 0755), 0);
  ASSERT_EQ(seteuid(65534), 0);
  const ProbeOutcome outcome = Run(OpenProbe{});
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_EQ(outcome.result, ProbeResult::kError);
  EXPECT_THAT(outcome.reason, AllOf(HasSubstr("Permission denied"), HasSubstr("privileged")));
}

TEST_F(ProbeTest, OpenDoesNotBlockOnAPipe) {
  tree_.Dir("dev");
  ASSERT_EQ(mkfifo(tree_.path("dev/d7").c_str(), 0600), 0);
  EXPECT_EQ(Run(OpenProbe{}).result, ProbeResult::kSuccess);
}

TEST_F(ProbeTest, FileComparesTheContent) {
  tree_.File("sys/d7/state", "up\n");
  tree_.File("sys/d7/empty", "");
  EXPECT_EQ(FileIs("/sys/{name}/state", "up").result, ProbeResult::kSuccess);
  EXPECT_EQ(FileIs("/sys/d7/empty", "").result, ProbeResult::kSuccess);
  EXPECT_EQ(FileMatches("/sys/d7/state", "up|unknown").result, ProbeResult::kSuccess);
  EXPECT_EQ(FileMatches("/sys/d7/state", "u").result, ProbeResult::kFailure);
  const ProbeOutcome outcome = FileIs("/sys/{name}/state", "down");
  EXPECT_EQ(outcome.result, ProbeResult::kFailure);
  EXPECT_EQ(outcome.reason, R"(/sys/d7/state contains "up", not "down")");
  EXPECT_EQ(FileMatches("/sys/d7/state", "down|.").reason,
            R"(/sys/d7/state contains "up", which does not match down|.)");
}

TEST_F(ProbeTest, QuotesOnlySysfsContent) {
  tree_.File("etc/shadow", "root:$y$secret:19000::::::\n");
  tree_.File("sys/d7/state", "up\n");
  tree_.Link("sys/d7/link", "/etc/shadow");
  tree_.Link("etc/state", "/sys/d7/state");
  for (const char* file : {"/etc/shadow", "/etc/./shadow", "/sys/d7/link"}) {
    for (const ProbeOutcome& outcome : {FileIs(file, "up"), FileMatches(file, "up|down")}) {
      EXPECT_EQ(outcome.result, ProbeResult::kFailure);
      EXPECT_THAT(outcome.reason, AllOf(HasSubstr("up"), Not(HasSubstr("root"))));
      EXPECT_EQ(outcome.output, "");
    }
  }
  EXPECT_EQ(FileIs("/etc/shadow", "up").reason, "/etc/shadow does not contain \"up\"");
  EXPECT_EQ(FileMatches("/etc/shadow", "u.").reason,
            "the content of /etc/shadow does not match u.");
  EXPECT_THAT(FileIs("/etc/state", "down").reason, HasSubstr("contains \"up\""));
  EXPECT_EQ(FileIs("/etc/shadow", "root:$y$secret:19000::::::").result, ProbeResult::kSuccess);
}

TEST_F(ProbeTest, FilePathRejectsVariablesWithPathComponents) {
  tree_.File("etc/shadow", "secret");
  for (const char* serial : {"../../etc/shadow", "..", ".", "", "a/b", "/etc/shadow"}) {
    device_.values = {{"serial", serial}};
    for (const char* file : {"/sys/d7/{serial}", "/sys/{serial}/state", "{serial}"}) {
      const ProbeOutcome outcome = FileIs(file, "up");
      EXPECT_EQ(outcome.result, ProbeResult::kError) << file << " " << serial;
      EXPECT_THAT(outcome.reason, AllOf(HasSubstr("health.file"), HasSubstr("{serial}")));
    }
  }
}

TEST_F(ProbeTest, PassesValuesAsArgumentsWithoutAShell) {
  device_.values = {{"serial", "-n"}};
  EXPECT_EQ(Command({"/usr/bin/printf", "%s|", "--", "{serial}", "$(id)"}).output, "--|-n|$(id)|");
}

TEST_F(ProbeTest, MissingFileIsAFailure) {
  EXPECT_EQ(FileIs("/sys/gone", "up").reason, "cannot access /sys: No such file or directory");
  EXPECT_EQ(FileIs("/sys/gone", "up").result, ProbeResult::kFailure);
  EXPECT_EQ(FileIs("/sys/{nothing}", "up").result, ProbeResult::kError);
}

TEST_F(ProbeTest, FileRejectsPipesDevicesAndLargeFiles) {
  tree_.Dir("sys");
  ASSERT_EQ(mkfifo(tree_.path("sys/pipe").c_str(), 0600), 0);
  tree_.CharDevice("sys/zero", 1, 5);
  tree_.File("sys/large", std::string(200'000, 'x'));
  tree_.Link("sys/loop", "loop");
  for (const char* file : {"/sys/pipe", "/sys/zero", "/sys/large", "/sys/loop", "/sys"}) {
    EXPECT_EQ(FileIs(file, "up").result, ProbeResult::kFailure) << file;
  }
  EXPECT_THAT(FileIs("/sys/pipe", "up").reason, HasSubstr("is not a regular file"));
}

TEST_F(ProbeTest, EscapesHostileText) {
  tree_.File("sys/state", std::string("\x1b[2J\0\xff", 6) + std::string(5000, 'y'));
  const std::string reason = FileIs("/sys/state", "up").reason;
  EXPECT_THAT(reason, HasSubstr("\\x1b[2J\\x00\\xff"));
  EXPECT_LE(reason.size(), 500U);
}

}  // namespace
}  // namespace patchbay
