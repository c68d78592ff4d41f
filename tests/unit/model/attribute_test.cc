#include "model/attribute.h"

#include <gmock/gmock.h>

namespace patchbay {
namespace {

using testing::HasSubstr;

TEST(AttributeName, IsAnIdentifierWithAnOptionalDomain) {
  for (const char* name : {"a", "_", "usbVendor", "A_1", "example.com/a",
                           "resource.kubernetes.io/numaNode", "resource.example.com/id"}) {
    EXPECT_EQ(ProblemWithAttributeName(name, "patchbay.dev"), std::nullopt) << name;
  }
  EXPECT_EQ(ProblemWithAttributeName(std::string(32, 'a'), "patchbay.dev"), std::nullopt);
  const std::string long_domain(64, 'd');
  for (const std::string& name :
       {std::string(), std::string("1a"), std::string("a-b"), std::string("a.b"),
        std::string("a b"), std::string("/a"), std::string("example.com/"),
        std::string("Example.com/a"), std::string("a/b/c"), std::string(33, 'a'),
        long_domain + "/a", std::string("\xc3\xbc")}) {
    EXPECT_NE(ProblemWithAttributeName(name, "patchbay.dev"), std::nullopt) << name;
  }
}

TEST(AttributeName, IsNotOneThatDeviceClassesSelectBy) {
  EXPECT_THAT(ProblemWithAttributeName("id", "patchbay.dev").value(),
              HasSubstr("choose another name"));
  EXPECT_THAT(ProblemWithAttributeName("resource", "patchbay.dev").value(),
              HasSubstr("choose another name"));
  EXPECT_THAT(ProblemWithAttributeName("patchbay.dev/id", "patchbay.dev").value(),
              HasSubstr("without \"patchbay.dev/\""));
}

TEST(SemanticVersion, FollowsTheSpecification) {
  for (const char* text : {"0.0.0", "1.2.3", "1.2.3-rc.1", "1.2.3-0a.x-y", "1.2.3+build.001",
                           "1.2.3-a+b-c", "999999999999999999.0.0", "1.0.0--", "1.0.0-0"}) {
    EXPECT_TRUE(IsSemanticVersion(text)) << text;
  }
  for (const char* text :
       {"", "1", "1.2", "1.2.3.4", "01.2.3", "1.02.3", "v1.2.3", "1.2.3-", "1.2.3+", "1.2.3-01",
        "1.2.3-a..b", "1.2.3+a_b", "1.2.3 ", "-1.2.3", "1.2.-3", "1000000000000000000.0.0",
        "1.2.3-1000000000000000000", "1..3"}) {
    EXPECT_FALSE(IsSemanticVersion(text)) << text;
  }
  EXPECT_FALSE(IsSemanticVersion("1.2.3-" + std::string(60, 'a')));
}

}  // namespace
}  // namespace patchbay
