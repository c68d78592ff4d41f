#include "daemon/descriptor_need.h"

#include <gmock/gmock.h>

namespace patchbay {
namespace {

TEST(DescriptorNeed, GrowsWithResourcesAndProbes) {
  DaemonSpec daemon;
  daemon.max_probes = 0;
  const std::size_t base = DescriptorsNeeded(0, daemon);
  EXPECT_EQ(DescriptorsNeeded(1000, daemon), base + 1000 * kDescriptorsPerResource);
  daemon.max_probes = 8;
  EXPECT_EQ(DescriptorsNeeded(0, daemon), base + 8 * kDescriptorsPerProbe);
}

TEST(DescriptorNeed, FailsOnlyIfTheLimitIsTooLow) {
  const DaemonSpec daemon;
  const std::size_t needed = DescriptorsNeeded(100, daemon);
  EXPECT_TRUE(CheckDescriptors(100, daemon, needed));
  const Status refused = CheckDescriptors(100, daemon, needed - 1);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("100 resources"));
  EXPECT_THAT(refused.error().message, testing::HasSubstr(std::to_string(needed)));
  EXPECT_THAT(refused.error().message, testing::HasSubstr("LimitNOFILE="));
}

}  // namespace
}  // namespace patchbay
