#include "kube/api_request.h"

#include <gtest/gtest.h>

#include <string>

namespace patchbay {
namespace {

TEST(ApiTarget, EncodesValues) {
  EXPECT_EQ(ApiTarget("/api/v1/nodes"), "/api/v1/nodes");
  EXPECT_EQ(ApiTarget("/x", {{"fieldSelector", "a=b,c=d/e"}, {"limit", "5"}}),
            "/x?fieldSelector=a%3Db%2Cc%3Dd%2Fe&limit=5");
}

TEST(ApiTarget, EncodesNamesForAPath) {
  EXPECT_EQ(EncodeForUrl("node-1.example_~"), "node-1.example_~");
  EXPECT_EQ(EncodeForUrl("../a b\r\n\xff"), "..%2Fa%20b%0D%0A%FF");
}

TEST(ApiTarget, RefusesWhatIsNotAPath) {
  for (const char* target : {"/", "/api/v1/nodes/a.b", "/x?a=/../b", "/a%2F..%2Fb", "/..a"}) {
    EXPECT_TRUE(IsApiTarget(target)) << target;
  }
  for (const char* target : {"", "api", "http://x/", "/a b", "/a\r\nX: y", "/a/../b", "/a/.", "/..",
                             "/a#b", "/\xc3\xa9"}) {
    EXPECT_FALSE(IsApiTarget(target)) << target;
  }
  EXPECT_FALSE(IsApiTarget("/" + std::string(8 << 10, 'a')));
}

}  // namespace
}  // namespace patchbay
