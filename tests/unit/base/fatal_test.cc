#include "base/fatal.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace patchbay {
namespace {

TEST(FatalDeathTest, ReportsUncaughtExceptionOfAThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        ReportFatalOnTerminate();
        std::thread([] { throw std::runtime_error("no\nthreads"); }).join();
      },
      "^patchbay: fatal error: no.x0athreads\n");
}

TEST(Fatal, CurrentExceptionTextHandlesUnknownTypes) {
  const auto text = [](auto exception) {
    try {
      throw exception;
    } catch (...) {
      return CurrentExceptionText();
    }
  };
  EXPECT_EQ(text(std::runtime_error("why")), "why");
  EXPECT_EQ(text(7), "unknown exception");
}

}  // namespace
}  // namespace patchbay
