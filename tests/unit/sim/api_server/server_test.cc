// The fake as a server: connections, tokens, TLS, watches and faults.

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "base/format.h"
#include "objects.h"
#include "sim/api_server/api_server_sim.h"
#include "support/api_client.h"
#include "support/certificates.h"
#include "support/inherited_sockets.h"

namespace patchbay::api_sim {
namespace {

using test::ApiClient;
using testing::ElementsAre;
using testing::HasSubstr;

class ApiServerTest : public testing::Test {
 protected:
  static constexpr std::chrono::seconds kPatience{10};
  inline static const std::string kPath = "/apis/resource.k8s.io/v1/resourceslices";
  inline static const std::string kWatch = kPath + "?watch=true&allowWatchBookmarks=true";

  void Serve(const ApiServerOptions& options = {}) {
    auto created = ApiServerSim::Create(options);
    ASSERT_TRUE(created) << created.error().message;
    server_ = *std::move(created);
    const auto started = server_->Start();
    ASSERT_TRUE(started) << started.error().message;
  }
  std::uint16_t port() const { return server_->port(); }

  /// Creates a slice without a connection.
  void CreateSlice(const std::string& name) {
    EXPECT_EQ(server_->Call("POST", kPath, test::Slice(name)).status, 201);
  }
  bool Has(const std::string& name) {
    return server_->Call("GET", kPath + "/" + name).status == 200;
  }
  bool AwaitWatches(std::size_t count) {
    return server_->Await([&] { return server_->Watches() == count; }, kPatience);
  }

  std::unique_ptr<ApiServerSim> server_;
};

TEST_F(ApiServerTest, ServesAndLogsRequests) {
  Serve();
  ApiClient client(port());
  const auto created = client.Send("POST", kPath, test::Slice("a"));
  EXPECT_EQ(created.status, 201);
  EXPECT_EQ(created.header.at("content-type"), "application/json");
  EXPECT_EQ(client.Get(kPath + "/a").json(), created.json());
  client.Send("POST", kPath + "?dryRun=All", test::Slice("b"));
  client.Get(kPath + "?limit=1");
  client.Get("/other");
  EXPECT_EQ(server_->url(), Format("http://127.0.0.1:{}", port()));
  std::vector<std::string> calls;
  for (const ApiCall& call : server_->Calls()) {
    calls.push_back(Format("{} {} {}{}", call.verb ? NameOf(*call.verb) : call.method, call.path,
                           call.status, call.is_dry_run ? " dry run" : ""));
  }
  EXPECT_THAT(calls, ElementsAre("create " + kPath + " 201", "get " + kPath + "/a 200",
                                 "create " + kPath + " 201 dry run", "list " + kPath + " 200",
                                 "GET /other 404"));
}

TEST_F(ApiServerTest, AcceptsOnlyItsTokens) {
  Serve({.tokens = {"old"}});
  EXPECT_EQ(ApiClient(port()).Get(kPath).status, 401);
  EXPECT_EQ(ApiClient(port(), "other").Get(kPath).json()["reason"], "Unauthorized");
  ApiClient client(port(), "old"), watching(port(), "old");
  EXPECT_EQ(client.Get(kPath).status, 200);
  watching.Watch(kWatch);
  server_->SetTokens({"new"});
  EXPECT_EQ(client.Get(kPath).status, 401);
  EXPECT_EQ(ApiClient(port(), "new").Get(kPath).status, 200);
  CreateSlice("a");
  EXPECT_EQ(watching.ReadEvent(), "ADDED a") << "an open watch outlives its token";
}

TEST_F(ApiServerTest, ServesTls) {
  const test::CertificateAuthority authority, other;
  const auto certificate = authority.Issue();
  Serve({.tls = TlsIdentity{certificate.pem, certificate.key}});
  ApiClient client(port(), "", ApiClient::Tls{authority.pem()});
  ASSERT_TRUE(client.is_connected());
  EXPECT_EQ(client.Send("POST", kPath, test::Slice("a")).status, 201);
  client.Watch(kWatch);
  EXPECT_EQ(client.ReadEvent(), "ADDED a");
  EXPECT_FALSE(ApiClient(port(), "", ApiClient::Tls{other.pem()}).is_connected());
  EXPECT_THAT(server_->url(), HasSubstr("https://"));
  EXPECT_EQ(ApiServerSim::Create({.tls = TlsIdentity{"x", "y"}}).error().kind, ErrorKind::kInvalid);
}

TEST_F(ApiServerTest, RestartsOnTheSamePort) {
  Serve();
  ApiClient client(port());
  CreateSlice("a");
  EXPECT_EQ(client.Get(kPath).status, 200);
  const std::uint16_t before = port();
  server_->Stop();
  server_->Stop();
  EXPECT_TRUE(client.AwaitClose());
  EXPECT_FALSE(ApiClient(before).is_connected());
  ASSERT_TRUE(server_->Start());
  EXPECT_EQ(port(), before);
  EXPECT_EQ(ApiClient(port()).Get(kPath + "/a").status, 200);
}

TEST_F(ApiServerTest, EndsWithOpenConnections) {
  Serve();
  ApiClient idle(port()), watching(port());
  EXPECT_EQ(idle.Get(kPath).status, 200);
  watching.Watch(kWatch);
  server_.reset();
  EXPECT_TRUE(idle.AwaitClose());
  EXPECT_TRUE(watching.AwaitClose());
}

TEST_F(ApiServerTest, StopWakesAwait) {
  Serve();
  std::atomic<bool> is_waiting = false, is_stopped = false;
  std::thread stops([&] {
    is_waiting.wait(false);
    is_stopped = true;
    server_->Stop();
  });
  EXPECT_TRUE(server_->Await(
      [&] {
        const bool ends = is_stopped && is_waiting;
        is_waiting = true;
        is_waiting.notify_all();
        return ends;
      },
      kPatience));
  stops.join();
}

TEST_F(ApiServerTest, AwaitEndsAlthoughItsPredicateReadsObjects) {
  Serve();
  EXPECT_FALSE(server_->Await(
      [&] {
        EXPECT_EQ(server_->Call("GET", kPath).status, 200);
        return false;
      },
      std::chrono::milliseconds(1)));
}

TEST_F(ApiServerTest, SocketsAreNotInherited) {
  Serve();
  ApiClient client(port());
  EXPECT_EQ(client.Get(kPath).status, 200);
  EXPECT_EQ(test::ExpectNotInherited(port()),
            3);  // the reservation, the listener and the connection
}

TEST_F(ApiServerTest, ReportsChangesToWatches) {
  Serve();
  CreateSlice("a");
  ApiClient watching(port()), other(port());
  const auto reply = watching.Watch(kWatch);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header.at("transfer-encoding"), "chunked");
  EXPECT_EQ(watching.ReadEvent(), "ADDED a");
  other.Send("PUT", kPath + "/a", test::Slice("a", Json::array({test::Device("x")})));
  other.Send("DELETE", kPath + "/a");
  EXPECT_EQ(watching.ReadEvent(), "MODIFIED a");
  EXPECT_EQ(watching.ReadEvent(), "DELETED a");
  // The next request comes during the watch.
  watching.SendOnly("GET", kPath);
  server_->EndWatches(WatchEnd::kClose);
  EXPECT_EQ(watching.ReadEvent(), "");
  EXPECT_EQ(watching.Read().status, 200);
}

TEST_F(ApiServerTest, EndsWatches) {
  Serve();
  ApiClient client(port());
  client.Watch(kWatch + "&timeoutSeconds=0");
  EXPECT_EQ(client.ReadEvent(), "BOOKMARK 1");
  EXPECT_EQ(client.ReadEvent(), "");
  EXPECT_EQ(client.Get(kPath).status, 200) << "the connection stays";
  client.Watch(kPath + "?watch=true&timeoutSeconds=0");
  EXPECT_EQ(client.ReadEvent(), "") << "without bookmarks";
  EXPECT_EQ(server_->Watches(), 0U);
  client.Watch(kWatch);
  ASSERT_TRUE(AwaitWatches(1));
  server_->EndWatches(WatchEnd::kReset);
  EXPECT_EQ(client.ReadEvent(), "");
  EXPECT_TRUE(client.was_reset());
}

TEST_F(ApiServerTest, SendsBookmarksAtIntervals) {
  Serve({.bookmark_interval = std::chrono::milliseconds(1)});
  ApiClient client(port());
  client.Watch(kWatch);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.ReadEvent(), "BOOKMARK 1");
}

TEST_F(ApiServerTest, ReportsNothingWhileWatchesArePaused) {
  Serve();
  ApiClient client(port());
  client.Watch(kWatch);
  server_->PauseWatches(true);
  CreateSlice("a");
  server_->EndWatches(WatchEnd::kClose);
  EXPECT_EQ(client.ReadEvent(), "");
  client.Watch(kWatch + "&resourceVersion=1");
  CreateSlice("b");
  server_->PauseWatches(false);
  EXPECT_EQ(client.ReadEvent(), "ADDED a");
  EXPECT_EQ(client.ReadEvent(), "ADDED b");
}

TEST_F(ApiServerTest, ExpiresWatches) {
  Serve();
  ApiClient client(port());
  client.Watch(kWatch + "&resourceVersion=1");
  server_->PauseWatches(true);
  CreateSlice("a");
  server_->Compact();
  server_->PauseWatches(false);
  EXPECT_EQ(client.ReadEvent(), "ERROR 410") << "it is behind";
  EXPECT_EQ(client.ReadEvent(), "");
  EXPECT_EQ(client.Watch(kWatch + "&resourceVersion=1").status, 200);
  EXPECT_EQ(client.ReadEvent(), "ERROR 410");
  EXPECT_EQ(client.ReadEvent(), "");
  server_->Compact(ExpiredWatch::kHttpStatus);
  EXPECT_EQ(client.Watch(kWatch + "&resourceVersion=1").json()["reason"], "Expired");
}

TEST_F(ApiServerTest, NoticesThatTheClientOfAWatchLeaves) {
  Serve();
  {
    ApiClient client(port());
    client.Watch(kWatch);
    EXPECT_TRUE(AwaitWatches(1));
  }
  EXPECT_TRUE(AwaitWatches(0));
}

TEST_F(ApiServerTest, RespondsAfterTheLatency) {
  constexpr std::chrono::milliseconds kLatency{50};
  Serve({.latency = kLatency});
  ApiClient client(port());
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(client.Get(kPath).status, 200);
  EXPECT_GE(std::chrono::steady_clock::now() - start, kLatency);
}

TEST_F(ApiServerTest, FaultsAreErrorsOfRequestsThatMatch) {
  Serve();
  server_->SetFaults({{.verb = Verb::kCreate, .code = 429, .retry_after = std::chrono::seconds(7)},
                      {.times = 2, .code = 503}});
  EXPECT_EQ(server_->FaultsLeft(), 3);
  ApiClient client(port());
  EXPECT_EQ(client.Get(kPath).status, 503);
  const auto limited = client.Send("POST", kPath, test::Slice("a"));
  EXPECT_EQ(limited.status, 429);
  EXPECT_EQ(limited.header.at("retry-after"), "7");
  EXPECT_EQ(limited.json()["reason"], "TooManyRequests");
  EXPECT_EQ(client.Send("POST", kPath, test::Slice("a")).status, 503);
  EXPECT_EQ(server_->FaultsLeft(), 0);
  EXPECT_FALSE(Has("a"));
  server_->SetFaults({{.times = 0}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.Get(kPath).status, 500);
}

TEST_F(ApiServerTest, FaultsResetBeforeOrAfterTheRequest) {
  Serve();
  server_->SetFaults({{.type = FaultType::kReset}, {.type = FaultType::kLoseResponse}});
  for (const char* name : {"a", "b"}) {
    ApiClient client(port());
    EXPECT_EQ(client.Send("POST", kPath, test::Slice(name)).status, 0);
    EXPECT_TRUE(client.was_reset());
  }
  EXPECT_FALSE(Has("a"));
  EXPECT_TRUE(Has("b"));
}

TEST_F(ApiServerTest, FaultsDamageBodies) {
  Serve();
  CreateSlice("a");
  server_->SetFaults({{.type = FaultType::kSlowBody},
                      {.type = FaultType::kMalformedJson},
                      {.type = FaultType::kCutBody}});
  ApiClient client(port());
  EXPECT_EQ(client.Get(kPath + "/a").json()["metadata"]["name"], "a");
  const auto malformed = client.Get(kPath);
  EXPECT_EQ(malformed.status, 200);
  EXPECT_TRUE(malformed.json().is_discarded());
  const auto cut = client.Get(kPath);
  EXPECT_EQ(cut.status, 0);
  EXPECT_FALSE(cut.body.empty());
}

TEST_F(ApiServerTest, FaultsSendBodiesWithoutEnd) {
  Serve();
  server_->SetFaults({{.type = FaultType::kEndlessBody}});
  ApiClient client(port());
  client.SendOnly("GET", kPath);
  // Far more than the buffers of two sockets.
  for (std::size_t bytes = 0; bytes < std::size_t{32} << 20;) {
    const std::size_t size = client.ReadBytes().size();
    ASSERT_GT(size, 0U);
    bytes += size;
  }
}

TEST_F(ApiServerTest, FaultsDamageWatches) {
  Serve();
  CreateSlice("a");
  server_->SetFaults({{.type = FaultType::kMalformedJson}, {.type = FaultType::kCutBody}, {}});
  ApiClient malformed(port());
  malformed.Watch(kWatch);
  EXPECT_EQ(malformed.ReadEvent(), "malformed");
  CreateSlice("b");
  EXPECT_EQ(malformed.ReadEvent(), "ADDED b");
  ApiClient cut(port());
  EXPECT_EQ(cut.Watch(kWatch).status, 200);
  EXPECT_EQ(cut.ReadEvent(), "");
  EXPECT_TRUE(cut.AwaitClose());
  EXPECT_EQ(ApiClient(port()).Watch(kWatch).status, 500);
}

}  // namespace
}  // namespace patchbay::api_sim
