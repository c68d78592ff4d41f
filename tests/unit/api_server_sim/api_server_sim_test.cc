#include "api_server_sim/api_server_sim.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "server_fixture.h"
#include "support/certificates.h"
#include "support/inherited_sockets.h"

namespace patchbay::api_sim {
namespace {

using test::ApiClient;
using testing::ElementsAre;
using testing::HasSubstr;

class ApiServerTest : public test::ApiServerFixture {};

TEST_F(ApiServerTest, ServesSeveralRequestsOnAConnection) {
  Serve();
  ApiClient client(port());
  const auto created = client.Send("POST", kPath, test::Slice("a"));
  EXPECT_EQ(created.status, 201);
  EXPECT_EQ(created.header.at("content-type"), "application/json");
  EXPECT_EQ(client.Get(kPath + "/a").json(), created.json());
  EXPECT_EQ(client.Get(kPath + "/b").status, 404);
  EXPECT_EQ(client.Get("/readyz").body, "ok");
  EXPECT_EQ(server().url(), "http://127.0.0.1:" + std::to_string(port()));
}

TEST_F(ApiServerTest, LogsCalls) {
  Serve();
  ApiClient client(port());
  client.Send("POST", kPath, test::Slice("a"));
  client.Send("DELETE", kPath + "/a?dryRun=All");
  client.Get(kPath + "?limit=1");
  client.Get("/version");
  std::vector<std::string> calls;
  for (const ApiCall& call : server().Calls()) {
    calls.push_back((call.verb ? std::string(NameOf(*call.verb)) : call.method) + " " + call.path +
                    " " + std::to_string(call.status) + (call.is_dry_run ? " dry run" : ""));
  }
  EXPECT_THAT(calls, ElementsAre("create " + kPath + " 201", "delete " + kPath + "/a 200 dry run",
                                 "list " + kPath + " 200", "GET /version 200"));
}

TEST_F(ApiServerTest, AcceptsOnlyItsTokens) {
  Serve({.tokens = {"old"}});
  EXPECT_EQ(ApiClient(port()).Get(kPath).status, 401);
  const auto refused = ApiClient(port(), "other").Get(kPath);
  EXPECT_EQ(refused.json()["reason"], "Unauthorized");
  ApiClient client(port(), "old");
  EXPECT_EQ(client.Get(kPath).status, 200);
  server().SetTokens({"new"});
  EXPECT_EQ(client.Get(kPath).status, 401);
  EXPECT_EQ(ApiClient(port(), "new").Get(kPath).status, 200);
}

TEST_F(ApiServerTest, AnOpenWatchOutlivesItsToken) {
  Serve({.tokens = {"old"}});
  ApiClient client(port(), "old");
  client.Watch(kPath + "?watch=true");
  server().SetTokens({"new"});
  CreateSlice("a");
  EXPECT_EQ(client.ReadEvent(), "ADDED a");
}

TEST_F(ApiServerTest, ServesTls) {
  const test::CertificateAuthority authority, other;
  const auto certificate = authority.Issue();
  Serve({.tls = TlsIdentity{certificate.pem, certificate.key}});
  ApiClient client(port(), "", ApiClient::Tls{authority.pem()});
  ASSERT_TRUE(client.is_connected());
  EXPECT_EQ(client.Send("POST", kPath, test::Slice("a")).status, 201);
  EXPECT_EQ(client.Get(kPath + "/a").status, 200);
  EXPECT_FALSE(ApiClient(port(), "", ApiClient::Tls{other.pem()}).is_connected());
  EXPECT_THAT(server().url(), HasSubstr("https://"));

  const auto replaced = other.Issue();
  ASSERT_TRUE(server().SetTls({replaced.pem, replaced.key}));
  EXPECT_FALSE(ApiClient(port(), "", ApiClient::Tls{authority.pem()}).is_connected());
  EXPECT_TRUE(ApiClient(port(), "", ApiClient::Tls{other.pem()}).is_connected());
  EXPECT_EQ(client.Get(kPath + "/a").status, 200);
}

TEST_F(ApiServerTest, WatchesOverTls) {
  const test::CertificateAuthority authority;
  const auto certificate = authority.Issue();
  Serve({.tls = TlsIdentity{certificate.pem, certificate.key}});
  ApiClient client(port(), "", ApiClient::Tls{authority.pem()});
  client.Watch(kPath + "?watch=true");
  CreateSlice("a");
  EXPECT_EQ(client.ReadEvent(), "ADDED a");
}

TEST_F(ApiServerTest, AcceptsClientCertificatesInsteadOfTokens) {
  const test::CertificateAuthority authority, other;
  const auto certificate = authority.Issue();
  Serve({.tokens = {"t"}, .tls = TlsIdentity{certificate.pem, certificate.key, authority.pem()}});
  const auto status_of = [&](const std::string& token, const test::Certificate& own) {
    return ApiClient(port(), token, ApiClient::Tls{authority.pem(), own.pem, own.key})
        .Get(kPath)
        .status;
  };
  EXPECT_EQ(status_of("", authority.Issue()), 200);
  EXPECT_EQ(status_of("", {}), 401);
  EXPECT_EQ(status_of("t", {}), 200);
  EXPECT_EQ(status_of("t", other.Issue()), 0);
}

TEST_F(ApiServerTest, RejectsUnusableCertificates) {
  const auto created = ApiServerSim::Create({.tls = TlsIdentity{"x", "y"}});
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(created.error().message, HasSubstr("cannot use the certificate"));
  const test::CertificateAuthority authority;
  Serve();
  EXPECT_FALSE(server().SetTls({authority.Issue().pem, authority.Issue().key}));
}

TEST_F(ApiServerTest, RestartsOnTheSamePort) {
  Serve();
  ApiClient client(port());
  CreateSlice("a");
  EXPECT_EQ(client.Get(kPath).status, 200);
  const std::uint16_t before = port();
  server().Stop();
  server().Stop();
  EXPECT_TRUE(client.AwaitClose());
  EXPECT_FALSE(ApiClient(before).is_connected());
  ASSERT_TRUE(server().Start());
  EXPECT_EQ(port(), before);
  EXPECT_EQ(ApiClient(port()).Get(kPath + "/a").status, 200);
  ASSERT_TRUE(server().Restart());
  EXPECT_EQ(ApiClient(port()).Get(kPath + "/a").status, 200);
}

TEST_F(ApiServerTest, KeepsItsPort) {
  Serve();
  const auto second = ApiServerSim::Create({.port = port()});
  EXPECT_TRUE(!second || !(*second)->Start());
}

TEST_F(ApiServerTest, LimitsRequests) {
  Serve({.max_body_bytes = 1000});
  ApiClient large(port());
  large.SendBytes("POST " + kPath + " HTTP/1.1\r\nContent-Length: 1001\r\n\r\n");
  const auto reply = large.Read();
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(reply.json()["reason"], "RequestEntityTooLarge");
  EXPECT_EQ(reply.header.at("connection"), "close");
  ApiClient header(port());
  header.SendBytes("GET / HTTP/1.1\r\nA: " + std::string(70'000, 'a') + "\r\n\r\n");
  EXPECT_EQ(header.Read().status, 431);
  ApiClient garbage(port());
  garbage.SendBytes("\x16\x03\x01 hello\r\n\r\n");
  EXPECT_EQ(garbage.Read().status, 400);
  EXPECT_EQ(ApiClient(port()).Get(kPath).status, 200);
}

TEST_F(ApiServerTest, EndsWithOpenConnections) {
  Serve();
  ApiClient idle(port()), watching(port());
  EXPECT_EQ(idle.Get(kPath).status, 200);
  watching.Watch(kPath + "?watch=true");
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
  EXPECT_EQ(client.Get("/readyz").status, 200);
  EXPECT_EQ(test::ExpectNotInherited(port()),
            3);  // the reservation, the listener and the connection
}

TEST_F(ApiServerTest, AllocatesAClaim) {
  Serve();
  const std::string claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
  server().Call("POST", "/apis/resource.k8s.io/v1/deviceclasses", test::DeviceClass());
  CreateSlice("a");
  EXPECT_EQ(server().Allocate("default", "claim-1", "node-1").error().kind, ErrorKind::kNotFound);
  server().Call("POST", claims, test::Claim());
  const auto allocated = server().Allocate("default", "claim-1", "node-1");
  ASSERT_TRUE(allocated) << allocated.error().message;
  const Json claim = ApiClient(port()).Get(claims + "/claim-1").json();
  EXPECT_EQ(claim["status"]["allocation"]["devices"]["results"][0]["device"], "a");
  EXPECT_EQ(claim["metadata"]["finalizers"],
            Json::array({"resource.kubernetes.io/delete-protection"}));
  EXPECT_TRUE(server().Allocate("default", "claim-1", "node-1"));
  server().Call("POST", claims, test::Claim("claim-2"));
  EXPECT_EQ(server().Allocate("default", "claim-2", "node-1").error().kind,
            ErrorKind::kPrecondition);

  // The claim is removed when it is deleted and deallocated, and its device is free again.
  server().Call("DELETE", claims + "/claim-1");
  EXPECT_EQ(server().Call("GET", claims + "/claim-1").status, 200);
  ASSERT_TRUE(server().Deallocate("default", "claim-1"));
  EXPECT_EQ(server().Call("GET", claims + "/claim-1").status, 404);
  EXPECT_EQ(server().Deallocate("default", "claim-1").error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(server().Allocate("default", "claim-2", "node-1"));
  ASSERT_TRUE(server().Deallocate("default", "claim-2"));
  const Json free = Json::parse(server().Call("GET", claims + "/claim-2").body);
  EXPECT_FALSE(free.contains("status"));
  EXPECT_FALSE(free["metadata"].contains("finalizers"));
}

}  // namespace
}  // namespace patchbay::api_sim
