#include "kube/server_text.h"

#include <gmock/gmock.h>

#include <string>

#include "base/escape.h"

namespace patchbay {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Clean(std::string_view text) { return CleanServerText(text, 1024); }

TEST(ServerText, KeepsMessagesOfTheApiServer) {
  for (const char* text :
       {"", "spec.devices[3].attributes[serial].string: Too long: may not be more than 64 bytes",
        R"(resourceslices.resource.k8s.io is forbidden: User "system:node:a" cannot list resource )"
        R"("resourceslices" in API group "resource.k8s.io" at the cluster scope)"}) {
    EXPECT_EQ(Clean(text), text);
  }
}

TEST(ServerText, RemovesWhatCanBeAToken) {
  const std::pair<const char*, const char*> cases[] = {
      {"abcdefghijklmno", "abcdefghijklmno"},
      {"abcdefghijklmnop", "(removed)"},
      {"user 'eyJhbGciOi.J9.SflKxw_-Rf' denied", "user '(removed)' denied"},
      {"a+/b+/c+/d+/e+/f==", "(removed)"},
      {"sha256~VbGfEqI3nXk9", "(removed)"},
      {"eyJh%62%47ciOi", "eyJh%62%47ciOi"},  // 14 characters
      {"eyJh%62%47ciOiJSUz", "(removed)"},
      {R"(eyJh\u002fGciO\/iJSUz)", "(removed)"},
      {"eyJh&#47;GciO&#x2f;iJSUz", "(removed)"},
      {"abcdefgh.k8s.io abcdefgH.secret.k8s.io", "abcdefgh.k8s.io (removed)"},
  };
  for (const auto& [text, clean] : cases) EXPECT_EQ(Clean(text), clean);
}

TEST(ServerText, RemovesShortTokensAfterTheirScheme) {
  EXPECT_EQ(Clean("Authorization: Bearer hunter2, x"), "Authorization: Bearer (removed), x");
  EXPECT_EQ(Clean("bad \"basic\": dTpw"), "bad \"basic\": (removed)");
  EXPECT_EQ(Clean("forbearer hunter2"), "forbearer hunter2");
}

TEST(ServerText, JoinsLinesThatSplitAToken) {
  EXPECT_EQ(Clean("got eyJhbGciOi\r\n  JSUzI1NiIs\nInR5 cCI6 end"), "got (removed) cCI6 end");
  EXPECT_EQ(Clean("got eyJh bGci OiJS"), "got eyJh bGci OiJS");
  EXPECT_EQ(Clean("one\ntwo"), R"(one\x0atwo)");
  EXPECT_EQ(Clean("abcdefghijklmnop\nresource.k8s.io"), "(removed)");
}

/// A token that is cut off by the limit would not be recognized.
TEST(ServerText, TruncatesAfterwards) {
  const std::string text = std::string(200, ' ') + "eyJhbGciOiJSUzI1NiIsInR5cCI6";
  for (std::size_t limit = 0; limit < text.size(); ++limit) {
    EXPECT_THAT(CleanServerText(text, limit), Not(HasSubstr("eyJ"))) << limit;
  }
  const std::string hostile = CleanServerText("\x1b[31m \xff", 100);
  EXPECT_EQ(Printable(hostile), hostile);
}

}  // namespace
}  // namespace patchbay
