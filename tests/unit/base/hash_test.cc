#include "base/hash.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(StableHash, MatchesFnv1aTestVectors) {
  // Test vectors of the authors of FNV. The hash is part of IDs, which must not change.
  EXPECT_EQ(StableHash(""), 0xcbf29ce484222325u);
  EXPECT_EQ(StableHash("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(StableHash("foobar"), 0x85944171f73967e8u);
  EXPECT_NE(StableHash("\xff"), StableHash("\x7f"));
}

}  // namespace
}  // namespace patchbay
