#include "base/log_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

namespace patchbay {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{20'000};
constexpr std::size_t kPage = 4096;
constexpr std::size_t kPipeBytes = 2 * kPage;

std::string ReportLost(std::uint64_t count) { return "lost " + std::to_string(count) + "\n"; }

/// A pipe of two pages that the test reads.
class LogWriterTest : public testing::TestWithParam<bool> {
 protected:
  LogWriterTest() {
    std::signal(SIGPIPE, SIG_IGN);
    EXPECT_EQ(pipe(ends_.data()), 0);
    EXPECT_EQ(fcntl(ends_[1], F_SETPIPE_SZ, static_cast<int>(kPipeBytes)),
              static_cast<int>(kPipeBytes));
  }
  // The write end stays open, because an abandoned writer still uses it.
  ~LogWriterTest() override { CloseReader(); }

  LogWriter::Limits Limits(std::size_t lines) const {
    return {.lines = lines, .thread = GetParam()};
  }
  void Fill() {
    ASSERT_EQ(write(ends_[1], std::string(kPipeBytes, '.').data(), kPipeBytes),
              static_cast<ssize_t>(kPipeBytes));
  }
  /// Drains a writer without a thread, which writes only when it is called.
  void Continue(LogWriter& writer) const {
    if (!GetParam()) writer.Drain(milliseconds(0));
  }

  /// Reads until the text ends with `end`, no more than `most` bytes.
  std::string ReadUntil(std::string_view end, std::size_t most = std::string::npos) {
    std::string text;
    while (text.size() < most && !text.ends_with(end)) {
      pollfd ready = {ends_[0], POLLIN, 0};
      if (poll(&ready, 1, static_cast<int>(kPatience.count())) != 1) break;
      char c = 0;
      if (read(ends_[0], &c, 1) != 1) break;
      text += c;
    }
    return text;
  }
  void Empty() { ReadUntil("none", kPipeBytes); }
  void CloseReader() {
    if (ends_[0] >= 0) close(ends_[0]);
    ends_[0] = -1;
  }

  std::array<int, 2> ends_ = {-1, -1};
};

TEST_P(LogWriterTest, WritesLinesInOrder) {
  LogWriter writer(ends_[1], ReportLost, Limits(100));
  std::string expected;
  for (int i = 0; i < 50; ++i) {
    writer.Write(std::to_string(i) + "\n");
    expected += std::to_string(i) + "\n";
  }
  EXPECT_EQ(ReadUntil("\n49\n"), expected);
  EXPECT_TRUE(writer.Drain(kPatience));
  EXPECT_EQ(writer.dropped(), 0U);
}

TEST_P(LogWriterTest, DropsAndReportsLinesThatAreNotRead) {
  LogWriter writer(ends_[1], ReportLost, Limits(10));
  Fill();
  for (int i = 0; i < 25; ++i) writer.Write("line " + std::to_string(i) + "\n");
  EXPECT_EQ(writer.dropped(), 15U);

  Empty();
  Continue(writer);
  EXPECT_EQ(ReadUntil("lost 15\n"),
            "line 0\nline 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\n"
            "lost 15\n");
  writer.Write("later\n");
  EXPECT_EQ(ReadUntil("later\n"), "later\n");
  EXPECT_EQ(writer.dropped(), 15U);
}

TEST_P(LogWriterTest, ReportsLostLinesWhereTheyAreMissing) {
  LogWriter::Limits limits = Limits(1000);
  limits.bytes = 10'000;
  LogWriter writer(ends_[1], ReportLost, limits);
  Fill();
  const std::string big = std::string(kPage - 1, 'b') + "\n";
  writer.Write(big);
  writer.Write(big);
  writer.Write(big);        // exceeds the limit
  writer.Write("short\n");  // dropped too, because less than half of the queue is free
  EXPECT_EQ(writer.dropped(), 2U);
  Empty();
  Continue(writer);
  EXPECT_EQ(ReadUntil("none", kPipeBytes), big + big);
  Continue(writer);
  EXPECT_EQ(ReadUntil("\n"), "lost 2\n");
}

TEST_P(LogWriterTest, CountsLinesThatFailToWrite) {
  LogWriter writer(ends_[1], ReportLost, Limits(100));
  CloseReader();
  writer.Write("a\n");
  writer.Write("b\n");
  EXPECT_TRUE(writer.Drain(kPatience));
  EXPECT_EQ(writer.dropped(), 2U);
}

TEST_P(LogWriterTest, DestructorDoesNotWaitForABlockedWrite) {
  Fill();
  {
    LogWriter writer(ends_[1], ReportLost, Limits(100));
    writer.Write("last words\n");
  }
  Empty();
  if (!GetParam()) return;
  EXPECT_EQ(ReadUntil("\n"), "last words\n");  // the abandoned thread still runs in this process
}

TEST_P(LogWriterTest, DestructorDrains) {
  { LogWriter(ends_[1], ReportLost, Limits(100)).Write("last words\n"); }
  EXPECT_EQ(ReadUntil("\n"), "last words\n");
}

TEST_P(LogWriterTest, NeverSplitsALine) {
  LogWriter writer(ends_[1], ReportLost, Limits(100));
  const std::string line = std::string(2 * kPipeBytes + kPage, 'x') + "\n";
  writer.Write(line);
  writer.Write("after\n");
  std::string text;
  while (!text.ends_with("after\n")) {
    const std::string first = ReadUntil("none", 1);
    ASSERT_FALSE(first.empty()) << text.size();
    text += first;
    std::array<char, kPipeBytes> rest;
    int there = 0;
    ASSERT_EQ(ioctl(ends_[0], FIONREAD, &there), 0);
    if (there > 0) {
      ASSERT_EQ(read(ends_[0], rest.data(), static_cast<std::size_t>(there)), there);
      text.append(rest.data(), static_cast<std::size_t>(there));
    }
    Continue(writer);
  }
  EXPECT_EQ(text, line + "after\n");
}

INSTANTIATE_TEST_SUITE_P(, LogWriterTest, testing::Bool(),
                         [](const auto& p) { return p.param ? "Thread" : "NoThread"; });

TEST(WriteWithin, TimesOutIfNoProcessReads) {
  std::array<int, 2> ends;
  ASSERT_EQ(pipe(ends.data()), 0);
  ASSERT_GT(fcntl(ends[1], F_SETPIPE_SZ, 4096), 0);
  EXPECT_TRUE(WriteWithin(ends[1], std::string(4096, 'x'), milliseconds(0)));
  EXPECT_FALSE(WriteWithin(ends[1], "y", milliseconds(1)));
  close(ends[0]);
  std::signal(SIGPIPE, SIG_IGN);
  EXPECT_FALSE(WriteWithin(ends[1], "y", milliseconds(0)));
  close(ends[1]);
}

}  // namespace
}  // namespace patchbay
