#include "daemon/config_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <sstream>

#include "config/diagnostic_code.h"
#include "support/fake_loop.h"
#include "support/temp_tree.h"
#include "support/thread_limit.h"

namespace patchbay {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ConfigSourceTest : public testing::Test {
 protected:
  /// Waits until the source has the result of the last of `loads` loads, which found an open
  /// writer. A load that has begun does not suffice: only its result starts the timer of the next
  /// one.
  void AwaitRetry(int loads) {
    ASSERT_TRUE(loop_.RunUntil([&] {
      return loads_ == loads && loop_.timers() == 1 && loop_.UntilNextTimer() == seconds(1);
    }));
  }

  test::FakeLoop loop_;
  std::ostringstream text_;
  Log log_{LogLevel::kInfo, LogFormat::kText, text_};
  std::atomic<bool> is_being_written_ = false;
  std::atomic<int> loads_ = 0;
  int taken_ = 0;  ///< loads whose result was passed on
  ConfigSource source_{loop_,
                       log_,
                       {},
                       [this] {
                         Loaded loaded;
                         loaded.is_being_written = is_being_written_;
                         ++loads_;
                         return loaded;
                       },
                       [this](Loaded) { ++taken_; }};
};

TEST_F(ConfigSourceTest, ReportsAFileThatStaysOpenForWriting) {
  source_.Reload();
  ASSERT_TRUE(loop_.RunUntil([&] { return taken_ == 1; }));
  is_being_written_ = true;
  source_.Reload();
  for (int second = 0; second < 10; ++second) {
    AwaitRetry(second + 2);
    EXPECT_EQ(taken_, 1) << second;
    loop_.Advance(seconds(1));
  }
  ASSERT_TRUE(loop_.RunUntil(
      [&] { return text_.str().find("is still open for writing; not") != std::string::npos; }));
  EXPECT_EQ(taken_, 1) << "the file may be incomplete";

  // As after SIGHUP.
  source_.Reload();
  ASSERT_TRUE(loop_.RunUntil([&] { return taken_ == 2; }));
  const int loads = loads_;
  loop_.Advance(seconds(1));
  EXPECT_EQ(loads_, loads);
}

TEST_F(ConfigSourceTest, ReadsAFileOnceItIsNoLongerBeingWritten) {
  source_.Reload();
  ASSERT_TRUE(loop_.RunUntil([&] { return taken_ == 1; }));
  is_being_written_ = true;
  source_.Reload();
  AwaitRetry(2);
  source_.Reload();
  AwaitRetry(3);
  EXPECT_EQ(taken_, 1) << "SIGHUP does not read a partial file";
  is_being_written_ = false;
  loop_.Advance(seconds(1));
  ASSERT_TRUE(loop_.RunUntil([&] { return taken_ == 2; }));
  EXPECT_EQ(text_.str(), "");
}

/// Returns 0 if the configuration is read as soon as there is a thread for it.
int LoadWithoutThreads() {
  test::TempTree tree;
  tree.File("config.toml", "");
  test::FakeLoop loop;
  std::ostringstream text;
  Log log{LogLevel::kInfo, LogFormat::kText, text};
  if (chmod(tree.path().c_str(), 0755) != 0 || !test::ForbidThreads()) return 0;
  int taken = 0;
  ConfigSource source(
      loop, log, {tree.path("config.toml")}, [] { return Loaded(); }, [&](Loaded) { ++taken; });
  source.Reload();
  loop.Advance(seconds(11));
  if (text.str().find("the limit of processes") == std::string::npos) return 2;
  if (taken != 0) return 3;
  test::AllowThreads();
  loop.Advance(seconds(1));
  return loop.RunUntil([&] { return taken == 1; }) ? 0 : 4;
}

TEST(ConfigSourceDeathTest, LoadsWhenThereIsAThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(LoadWithoutThreads()), testing::ExitedWithCode(0), "");
}

class LogDiagnosticsTest : public testing::Test {
 protected:
  static Diagnostic Finding(Severity severity, int line) {
    return {severity, "some-code", {"a.toml", line, 2}, "some message", "some hint"};
  }
  /// Returns the lines of the log.
  std::vector<std::string> Logged(const std::vector<Diagnostic>& findings,
                                  const std::vector<Diagnostic>& logged = {}) {
    std::ostringstream text;
    {
      Log log(LogLevel::kInfo, LogFormat::kText, text);
      LogDiagnostics(log, findings, logged);
    }
    std::vector<std::string> lines;
    std::istringstream read(text.str());
    for (std::string line; std::getline(read, line);) lines.push_back(line);
    return lines;
  }
};

TEST_F(LogDiagnosticsTest, NamesEachErrorAndCountsWarnings) {
  EXPECT_THAT(Logged({}), IsEmpty());
  EXPECT_THAT(Logged({Finding(Severity::kError, 3), Finding(Severity::kWarning, 4),
                      Finding(Severity::kError, 5), Finding(Severity::kWarning, 6)}),
              ElementsAre(AllOf(HasSubstr(" error configuration error at=a.toml:3:2 "),
                                HasSubstr("code=some-code reason=\"some message\" ")),
                          HasSubstr("at=a.toml:5:2 "),
                          AllOf(HasSubstr("configuration has warnings"), HasSubstr("warnings=2"))));
}

TEST_F(LogDiagnosticsTest, DoesNotRepeatEqualFindings) {
  const std::vector<Diagnostic> findings = {Finding(Severity::kError, 3)};
  EXPECT_THAT(Logged(findings, findings),
              ElementsAre(HasSubstr(" info configuration diagnostics unchanged findings=1")));
  EXPECT_THAT(Logged(findings, {Finding(Severity::kError, 4)}), ElementsAre(HasSubstr(":3:2 ")));
}

TEST_F(LogDiagnosticsTest, NamesFiftyErrorsAndCountsTheOthers) {
  std::vector<Diagnostic> findings;
  for (int line = 1; line <= 50; ++line) findings.push_back(Finding(Severity::kError, line));
  EXPECT_THAT(Logged(findings), SizeIs(50));
  findings.push_back(Finding(Severity::kError, 51));
  findings.push_back(Finding(Severity::kError, 52));
  const auto lines = Logged(findings);
  ASSERT_THAT(lines, SizeIs(51));
  EXPECT_THAT(lines.back(), AllOf(HasSubstr("errors omitted"), HasSubstr("more=2")));
}

TEST_F(LogDiagnosticsTest, NamesAConfigurationWithoutResources) {
  Diagnostic finding = Finding(Severity::kWarning, 1);
  finding.code = InfoOf(Code::kNoResources).name;
  EXPECT_THAT(Logged({finding}), ElementsAre(AllOf(HasSubstr("configuration has no resources"),
                                                   HasSubstr("hint=\"some hint\"")),
                                             HasSubstr("configuration has warnings")));
}

}  // namespace
}  // namespace patchbay
