#include "os/init.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace patchbay {
namespace {

// What it does as PID 1, tests/e2e/init_test.py shows.
TEST(Init, IsNoneWhereAnotherProcessIs) {
  if (getpid() == 1) GTEST_SKIP() << "this is PID 1";
  const pid_t before = getpid();
  const auto ended = RunAsInit();
  ASSERT_TRUE(ended);
  EXPECT_FALSE(*ended);
  EXPECT_EQ(getpid(), before);
}

}  // namespace
}  // namespace patchbay
