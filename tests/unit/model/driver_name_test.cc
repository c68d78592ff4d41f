#include "model/driver_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace patchbay {
namespace {

using testing::HasSubstr;

TEST(CheckDriverName, AcceptsDnsSubdomains) {
  for (const std::string name : {"patchbay.dev", "a", "a0.a-b.0", "gpu.example.com"}) {
    EXPECT_TRUE(CheckDriverName(name)) << name;
  }
  EXPECT_TRUE(CheckDriverName(std::string(kMaxDriverName, 'a')));
}

TEST(CheckDriverName, RejectsOtherNames) {
  for (const std::string name : {"", ".", "a.", ".a", "a..b", "-a", "a-", "Patchbay.dev", "a_b",
                                 "a/b", "../a", "a b", "a\n", "ä"}) {
    const Status status = CheckDriverName(name);
    ASSERT_FALSE(status) << name;
    EXPECT_EQ(status.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(status.error().message, HasSubstr("lowercase letters"));
  }
  for (const std::string name : {"0", "0.a-b.c", "3d.example.com"}) {
    const Status status = CheckDriverName(name);
    ASSERT_FALSE(status) << name;
    EXPECT_EQ(status.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(status.error().message, HasSubstr("must begin with a letter")) << name;
  }
  const Status too_long = CheckDriverName(std::string(kMaxDriverName + 1, 'a'));
  ASSERT_FALSE(too_long);
  EXPECT_THAT(too_long.error().message, HasSubstr("longer than 47 bytes"));
}

}  // namespace
}  // namespace patchbay
