#include "model/object_name.h"

#include <gtest/gtest.h>

#include <string>

namespace patchbay {
namespace {

TEST(DnsName, IsDecidedAsKubernetesDoes) {
  for (const char* label : {"a", "0", "a-b", "a--b"}) EXPECT_TRUE(IsDnsLabel(label)) << label;
  for (const char* text : {"", "-", "a-", "-a", "A", "a.b", "a_b", "a/b", "\xc3\xbc"}) {
    EXPECT_FALSE(IsDnsLabel(text)) << text;
  }
  EXPECT_FALSE(IsDnsLabel(std::string(64, 'a')));
  for (const char* name : {"a", "a.b", "0.1", "a-b.c"}) EXPECT_TRUE(IsDnsSubdomain(name)) << name;
  for (const char* text : {"", ".", "a.", ".a", "a..b", "a.-b", "a-.b", "a/b", "../a"}) {
    EXPECT_FALSE(IsDnsSubdomain(text)) << text;
  }
  EXPECT_FALSE(IsDnsSubdomain(std::string(254, 'a')));
}

TEST(IsDnsSubdomain, LimitsLabelsAndLength) {
  const std::string label(63, 'a');
  EXPECT_TRUE(IsDnsLabel(label));
  EXPECT_FALSE(IsDnsLabel(label + "a"));
  EXPECT_FALSE(IsDnsLabel("a.b"));
  const std::string longest = label + "." + label + "." + label + "." + std::string(61, 'a');
  EXPECT_EQ(longest.size(), 253U);
  EXPECT_TRUE(IsDnsSubdomain(longest));
  EXPECT_FALSE(IsDnsSubdomain(longest + "a"));
  EXPECT_FALSE(IsDnsSubdomain(label + "a.b"));
}

TEST(IsUid, AcceptsOnlyTextThatIsSafeInAFileName) {
  EXPECT_TRUE(IsUid("11111111-2222-3333-4444-555555555555"));
  EXPECT_TRUE(IsUid(std::string(64, 'f')));
  for (const std::string text : {"", "..", "a/b", "a.b", "a b", "a_b", "ä"}) {
    EXPECT_FALSE(IsUid(text)) << text;
  }
  EXPECT_FALSE(IsUid(std::string("a\0b", 3)));
  EXPECT_FALSE(IsUid(std::string(65, 'f')));
}

}  // namespace
}  // namespace patchbay
