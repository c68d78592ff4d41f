#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace patchbay {
namespace {

using testing::EndsWith;
using testing::MatchesRegex;

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

}  // namespace
}  // namespace patchbay
