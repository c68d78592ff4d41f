#include "support/hostile_host.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "support/sanitizer.h"

namespace patchbay {
namespace {

/// In parts that can run side by side; each is of other texts.
constexpr unsigned kParts = 8;
constexpr int kCases = 20'000 / kParts;

class HostileHost : public testing::TestWithParam<unsigned> {};

/// Whatever a device says of itself, each node handed out has the number that the kernel gave that
/// device, each path stays where the configuration put it, and each name obeys its grammar.
TEST_P(HostileHost, DeviceTextsCannotGainAccess) {
  if (geteuid() != 0) GTEST_SKIP() << "device nodes need root";
  test::HostileHost host;
  std::mt19937 random(20'261'122 + GetParam());
  for (int i = 0; i < (test::kHasAddressSanitizer ? kCases / 10 : kCases); ++i) {
    std::string bytes(256, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    ASSERT_EQ(host.Check(test::Choices(bytes)), "") << "case " << i;
  }
  EXPECT_GT(host.allocations(), 0U);
}

INSTANTIATE_TEST_SUITE_P(All, HostileHost, testing::Range(0U, kParts));

}  // namespace
}  // namespace patchbay
