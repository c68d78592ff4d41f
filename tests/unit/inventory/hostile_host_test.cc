#include "support/hostile_host.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "support/sanitizer.h"

namespace patchbay {
namespace {

/// Parts that can run in parallel, each with different texts.
constexpr unsigned kParts = 8;
constexpr int kCases = 20'000 / kParts;

class HostileHost : public testing::TestWithParam<unsigned> {};

/// For any text from a device, each allocated node has the device number of the kernel, each path
/// stays below its configured directory, and each name is valid.
TEST_P(HostileHost, DeviceTextsCannotGainAccess) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  test::HostileHost host;
  std::mt19937 random(20'261'122 + GetParam());
  for (int i = 0; i < test::Cases(kCases); ++i) {
    std::string bytes(256, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    ASSERT_EQ(host.Check(test::Choices(bytes)), "") << "case " << i;
  }
  EXPECT_GT(host.allocations(), 0U);
}

INSTANTIATE_TEST_SUITE_P(All, HostileHost, testing::Range(0U, kParts));

}  // namespace
}  // namespace patchbay
