#include "rpc/pending_calls.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace patchbay {
namespace {

using namespace std::chrono_literals;

TEST(PendingCalls, ReturnsTheOldestCall) {
  PendingCalls calls;
  const PendingCalls::Time start{};
  EXPECT_EQ(calls.Oldest(), std::nullopt);
  const auto second = calls.Begin("second", start + 2s);
  const auto first = calls.Begin("first", start + 1s);
  EXPECT_EQ(calls.Oldest()->second, "first");
  calls.End(first);
  EXPECT_EQ(calls.Oldest()->second, "second");
  calls.End(second);
  EXPECT_EQ(calls.Oldest(), std::nullopt);
}

}  // namespace
}  // namespace patchbay
