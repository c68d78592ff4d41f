#include "base/write_within.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

namespace patchbay {
namespace {

using std::chrono::milliseconds;

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
