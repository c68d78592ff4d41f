#include "base/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace patchbay {
namespace {

using std::chrono::milliseconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

/// Returns a line without its timestamp.
std::string WithoutTime(const std::string& line) { return line.substr(line.find(' ') + 1); }

class LogTest : public testing::Test {
 protected:
  std::string Text(std::string_view message, Log::Fields fields = {}) {
    return WithoutTime(Write(LogFormat::kText, message, fields));
  }
  /// Returns the JSON members after the timestamp.
  std::string Json(std::string_view message, Log::Fields fields = {}) {
    const std::string line = Write(LogFormat::kJson, message, fields);
    return line.substr(line.find(',') + 1);
  }
  std::string Write(LogFormat format, std::string_view message, Log::Fields fields) {
    out_.str("");
    Log(LogLevel::kDebug, format, out_).Info(message, fields);
    return out_.str();
  }

  std::ostringstream out_;
};

TEST_F(LogTest, WritesTextAsTimeLevelMessageAndFields) {
  EXPECT_THAT(Write(LogFormat::kText, "registered", {{"resource", "a.b/c"}, {"devices", 3}}),
              MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z "
                           "info registered resource=a\\.b/c devices=3\n"));
}

TEST_F(LogTest, WritesOneJsonObjectPerLine) {
  EXPECT_THAT(Write(LogFormat::kJson, "registered", {{"resource", "a.b/c"}, {"devices", 3}}),
              MatchesRegex("\\{\"time\":\"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
                           "\\.[0-9]{3}Z\",\"level\":\"info\",\"message\":\"registered\","
                           "\"resource\":\"a\\.b/c\",\"devices\":3\\}\n"));
}

TEST_F(LogTest, QuotesTextValuesWithSpecialCharacters) {
  EXPECT_EQ(Text("m", {{"k", "plain-1/x:y"}}), "info m k=plain-1/x:y\n");
  EXPECT_EQ(Text("m", {{"k", "a b"}}), "info m k=\"a b\"\n");
  EXPECT_EQ(Text("m", {{"k", "a=b"}}), "info m k=\"a=b\"\n");
  EXPECT_EQ(Text("m", {{"k", "a\"b\\c"}}), "info m k=\"a\\\"b\\\\c\"\n");
}

TEST_F(LogTest, OmitsFieldsWithoutValue) {
  EXPECT_EQ(Text("m", {{"k", ""}, {"l", "x"}}), "info m l=x\n");
  EXPECT_EQ(Json("m", {{"k", ""}, {"l", 0}}), R"("level":"info","message":"m","l":0})"
                                              "\n");
}

TEST_F(LogTest, EscapesControlCharactersInValues) {
  const std::string hostile = "a\nb\r\x1b[31m\x7f\xff";
  const std::string quoted = "\"a\\nb\\u000d\\u001b[31m\\u007f\xEF\xBF\xBD\"";
  EXPECT_EQ(Text("m", {{"k", hostile}}), "info m k=" + quoted + "\n");
  EXPECT_EQ(Json("m", {{"k", hostile}}), R"("level":"info","message":"m","k":)" + quoted + "}\n");
  EXPECT_EQ(Json(hostile), R"("level":"info","message":)" + quoted + "}\n");
  EXPECT_EQ(Text("m", {{"k", std::string_view("a\0b", 3)}}), "info m k=\"a\\u0000b\"\n");
}

TEST_F(LogTest, EscapesNewlinesInMessages) {
  const std::string line = Text("cannot read /dev/a\ninfo forged");
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
}

TEST_F(LogTest, DoesNotInterpretFormatSpecifiers) {
  EXPECT_EQ(Text("{} {0} %v %n", {{"k", "{}%v"}}), "info {} {0} %v %n k={}%v\n");
  EXPECT_EQ(Json("{}%v"), "\"level\":\"info\",\"message\":\"{}%v\"}\n");
}

TEST_F(LogTest, WritesTheConfiguredLevelAndAbove) {
  const auto levels = [this](LogLevel level) {
    out_.str("");
    Log log(level, LogFormat::kText, out_);
    log.Debug("m");
    log.Info("m");
    log.Warning("m");
    log.Error("m");
    std::string names;
    std::istringstream lines(out_.str());
    for (std::string line; std::getline(lines, line);) {
      line = WithoutTime(line);
      names += line.substr(0, line.find(' ')) + " ";
    }
    return names;
  };
  EXPECT_EQ(levels(LogLevel::kDebug), "debug info warning error ");
  EXPECT_EQ(levels(LogLevel::kInfo), "info warning error ");
  EXPECT_EQ(levels(LogLevel::kWarning), "warning error ");
  EXPECT_EQ(levels(LogLevel::kError), "error ");
}

TEST_F(LogTest, ConcurrentWritesDoNotInterleave) {
  Log log(LogLevel::kDebug, LogFormat::kText, out_);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&log] {
      for (int n = 0; n < 200; ++n) log.Debug("message", {{"key", "value"}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::istringstream lines(out_.str());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    ASSERT_THAT(line, EndsWith("Z debug message key=value"));
  }
  EXPECT_EQ(count, 800);
}

constexpr milliseconds kPatience{20'000};

/// A log that writes to a pipe of two pages, which the test reads.
class LogToPipeTest : public testing::Test {
 protected:
  LogToPipeTest() {
    std::signal(SIGPIPE, SIG_IGN);
    EXPECT_EQ(pipe(ends_.data()), 0);
    EXPECT_EQ(fcntl(ends_[1], F_SETPIPE_SZ, static_cast<int>(kPipeBytes)),
              static_cast<int>(kPipeBytes));
  }
  // The write end stays open, because the thread of a log can still use it.
  ~LogToPipeTest() override { CloseReader(); }

  /// Fills the pipe, so that nothing can be written to it.
  void Fill() {
    ASSERT_EQ(write(ends_[1], std::string(kPipeBytes, '.').data(), kPipeBytes),
              static_cast<ssize_t>(kPipeBytes));
  }
  void Empty() { ReadUntil("none", kPipeBytes); }
  void CloseReader() {
    if (ends_[0] >= 0) close(ends_[0]);
    ends_[0] = -1;
  }
  /// Reads until the text ends with `end`, at most `max_bytes`.
  std::string ReadUntil(std::string_view end, std::size_t max_bytes = std::string::npos) {
    std::string text;
    while (text.size() < max_bytes && !text.ends_with(end)) {
      pollfd ready = {ends_[0], POLLIN, 0};
      if (poll(&ready, 1, static_cast<int>(kPatience.count())) != 1) break;
      char c = 0;
      if (read(ends_[0], &c, 1) != 1) break;
      text += c;
    }
    return text;
  }
  int descriptor() const { return ends_[1]; }

  static constexpr std::size_t kPipeBytes = 2 * 4096;

 private:
  std::array<int, 2> ends_ = {-1, -1};
};

TEST_F(LogToPipeTest, WritesLinesInOrder) {
  Log log(LogLevel::kInfo, LogFormat::kText, descriptor());
  for (int i = 0; i < 20; ++i) log.Info("line", {{"count", i}});
  const std::string text = ReadUntil("count=19\n");
  std::size_t at = 0;
  for (int i = 0; i < 20; ++i) {
    at = text.find("info line count=" + std::to_string(i) + "\n", at);
    ASSERT_NE(at, std::string::npos) << text;
  }
  EXPECT_EQ(log.dropped(), 0U);
}

TEST_F(LogToPipeTest, DropsTheOldestLinesAndReportsThem) {
  Log log(LogLevel::kInfo, LogFormat::kText, descriptor());
  log.Info("fills the pipe", {{"reason", std::string(3 * kPipeBytes, 'x')}});
  ASSERT_EQ(ReadUntil("none", 1).size(), 1U);  // the thread has taken it, and waits
  const int lines = static_cast<int>(Log::kQueueLines) + 100;
  for (int i = 0; i < lines; ++i) log.Info("line", {{"count", i}});
  EXPECT_EQ(log.dropped(), 100U);
  const std::string text = ReadUntil("info line count=" + std::to_string(lines - 1) + "\n");
  EXPECT_THAT(text, HasSubstr("warning log lines dropped count=100\n"));
  EXPECT_THAT(text, Not(HasSubstr("info line count=99\n")));
  EXPECT_THAT(text, HasSubstr("info line count=100\n"));
}

TEST_F(LogToPipeTest, CountsLinesThatCannotBeWritten) {
  CloseReader();
  Log log(LogLevel::kInfo, LogFormat::kText, descriptor());
  log.Info("a");
  log.Info("b");
  log.Flush(kPatience);
  EXPECT_EQ(log.dropped(), 2U);
}

TEST_F(LogToPipeTest, SkipsRepeatedLines) {
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    Log log(LogLevel::kInfo, format, descriptor());
    for (int i = 0; i < 4; ++i) log.Info("again", {{"device", "x"}});
    log.Info("other");
    log.Flush(kPatience);
    const bool is_text = format == LogFormat::kText;
    const std::string text = ReadUntil(is_text ? "other\n" : "\"other\"}\n");
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
    EXPECT_THAT(text, HasSubstr(is_text ? "info Skipped 3 duplicate messages..\n"
                                        : "\"message\":\"Skipped 3 duplicate messages..\"}\n"));
  }
}

TEST_F(LogToPipeTest, DestructorWaitsForTheLastLines) {
  { Log(LogLevel::kInfo, LogFormat::kText, descriptor()).Info("last words"); }
  EXPECT_THAT(ReadUntil("\n"), EndsWith("info last words\n"));
}

TEST_F(LogToPipeTest, DestructorDoesNotWaitForABlockedWrite) {
  Fill();
  { Log(LogLevel::kInfo, LogFormat::kText, descriptor()).Info("last words"); }
  Empty();
  EXPECT_THAT(ReadUntil("\n"), EndsWith("info last words\n"));  // the thread still runs
}

TEST_F(LogToPipeTest, DoesNotSplitALine) {
  Log log(LogLevel::kInfo, LogFormat::kText, descriptor());
  const std::string value(20'000, 'x');
  log.Info("long", {{"reason", value}});
  log.Info("after");
  EXPECT_THAT(ReadUntil("after\n"), HasSubstr("info long reason=" + value + "\n"));
}

}  // namespace
}  // namespace patchbay
