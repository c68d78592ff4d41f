#include "kube/credentials.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <optional>
#include <string>
#include <vector>

#include "support/certificates.h"
#include "support/net_loop.h"
#include "support/pool_hold.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ParseToken, AcceptsOneLine) {
  EXPECT_EQ(*ParseToken("abc.DEF-_~+/="), "abc.DEF-_~+/=");
  EXPECT_EQ(*ParseToken("abc\r\n \n"), "abc");
  for (const char* text : {"", "\n", " \n"}) {
    EXPECT_THAT(ParseToken(text).error().message, HasSubstr("is empty"));
  }
  for (const char* text : {"a b", "a\nb", "a\r\nX-Header: y", "a\x7f", "\xc3\xa9"}) {
    EXPECT_THAT(ParseToken(text).error().message, HasSubstr("not a valid token"));
  }
}

class CredentialFiles : public testing::Test {
 protected:
  CredentialFiles() {
    tree_.File("ca.crt", authority_.pem());
    tree_.File("token", "one");
  }
  ClusterConfig Config() const {
    return {.host = "a",
            .ca_file = tree_.path("ca.crt"),
            .token_file = tree_.path("token"),
            .client_certificate_file = "",
            .client_key_file = ""};
  }

  test::TempTree tree_;
  test::CertificateAuthority authority_;
};

TEST_F(CredentialFiles, NamesTheFileThatIsNotValid) {
  EXPECT_EQ(ReadCredentials(Config())->token, "one");
  tree_.File("token", "");
  EXPECT_THAT(ReadCredentials(Config()).error().message,
              AllOf(HasSubstr(tree_.path("token")), HasSubstr("is empty")));
  tree_.File("token", std::string(100'000, 'x'));
  EXPECT_THAT(ReadCredentials(Config()).error().message, HasSubstr("is longer than"));
  tree_.Remove("token");
  EXPECT_THAT(ReadCredentials(Config()).error().message,
              AllOf(HasSubstr(tree_.path("token")), HasSubstr("No such file"),
                    HasSubstr("check that the file exists and that this user may read it")));
  tree_.File("token", "one");
  tree_.Remove("ca.crt");
  EXPECT_THAT(ReadCredentials(Config()).error().message,
              AllOf(HasSubstr(tree_.path("ca.crt")), HasSubstr("check that the file exists")));
  tree_.File("ca.crt", "text");
  EXPECT_THAT(ReadCredentials(Config()).error().message, HasSubstr(tree_.path("ca.crt")));
}

class CredentialCacheTest : public CredentialFiles {
 protected:
  /// The token, or the error.
  static std::string Text(const Result<CredentialCache::Shared>& result) {
    return result ? (*result)->token : result.error().message;
  }
  std::string Get(bool again = false) {
    std::optional<std::string> text;
    const auto done = [&](const Result<CredentialCache::Shared>& result) { text = Text(result); };
    again ? cache_->GetAgain(done) : cache_->Get(done);
    EXPECT_FALSE(text);  // never before Get returns
    EXPECT_TRUE(loop_.RunUntil([&] { return text.has_value(); }));
    return text.value_or("");
  }

  test::NetLoop loop_;
  ThreadPool pool_{loop_, {.max_running = 1, .patience = std::chrono::hours(1)}};
  std::optional<CredentialCache> cache_{std::in_place, Config(), loop_, pool_};
};

TEST_F(CredentialCacheTest, ReadsTheFilesAgainAfterAMinute) {
  EXPECT_EQ(Get(), "one");
  tree_.File("token", "two");
  loop_.Advance(seconds(59));
  EXPECT_EQ(Get(), "one");
  loop_.Advance(seconds(1));
  EXPECT_EQ(Get(), "two");
}

TEST_F(CredentialCacheTest, ReadsTheFilesAtOnceOnRequest) {
  EXPECT_EQ(Get(), "one");
  tree_.File("token", "two");
  EXPECT_EQ(Get(true), "two");
  EXPECT_EQ(Get(), "two");
}

TEST_F(CredentialCacheTest, KeepsTheLastValidCredentials) {
  EXPECT_EQ(Get(), "one");
  tree_.Remove("token");
  loop_.Advance(minutes(2));
  EXPECT_EQ(Get(), "one");
  EXPECT_THAT(Get(true), HasSubstr("No such file"));
  tree_.File("token", "two");
  EXPECT_EQ(Get(), "two");
}

TEST_F(CredentialCacheTest, CallersShareARead) {
  std::vector<std::string> tokens;
  const auto done = [&](const Result<CredentialCache::Shared>& result) {
    tokens.push_back(Text(result));
  };
  {
    const test::PoolHold hold(pool_);
    cache_->Get(done);
    cache_->Get(done);
    tree_.File("token", "two");
  }
  ASSERT_TRUE(loop_.RunUntil([&] { return tokens.size() == 2; }));
  EXPECT_THAT(tokens, ElementsAre("two", "two"));
}

/// Reading a FIFO without a writer ends at once with O_NONBLOCK, so a held pool stands for a file
/// system that hangs.
TEST_F(CredentialCacheTest, ReadsAgainWhileAReadHangs) {
  std::vector<std::string> tokens;
  const auto done = [&](const Result<CredentialCache::Shared>& result) {
    tokens.push_back(Text(result));
  };
  {
    const test::PoolHold hold(pool_);
    cache_->Get(done);
    loop_.Advance(minutes(1));
    cache_->Get(done);
    EXPECT_TRUE(tokens.empty());
  }
  ASSERT_TRUE(loop_.RunUntil([&] { return tokens.size() == 2; }));
  EXPECT_THAT(tokens, ElementsAre("one", "one"));
}

TEST_F(CredentialCacheTest, CallsNothingAfterItsEnd) {
  bool called = false;
  cache_->Get([&](const Result<CredentialCache::Shared>&) { called = true; });
  cache_.reset();
  // The pool has one thread, which runs the read first.
  bool passed = false;
  pool_.Run([] { return 0; }, [&](int) { passed = true; });
  ASSERT_TRUE(loop_.RunUntil([&] { return passed; }));
  EXPECT_FALSE(called);
}

TEST_F(CredentialCacheTest, AFunctionMayDestroyIt) {
  std::string token;
  cache_->Get([&](const Result<CredentialCache::Shared>& result) {
    cache_.reset();
    token = Text(result);
  });
  ASSERT_TRUE(loop_.RunUntil([&] { return !token.empty(); }));
  EXPECT_EQ(token, "one");
}

}  // namespace
}  // namespace patchbay
