// The client against a server that sends any bytes. The clock is virtual; sockets and files are
// real.

#include "kube/api_client.h"

#include <gmock/gmock.h>

#include <string>

#include "os/asio_loop.h"
#include "support/pool_hold.h"
#include "unit/kube/client_fixture.h"

namespace patchbay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using test::Chunk;
using test::JsonReply;
using test::kChunkedHeader;
using test::Reply;
using test::ServerRequest;
using test::Then;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

class ApiClientTest : public test::ClientFixture {
 protected:
  /// Sends a request that the test cancels or lets time out.
  Subscription Begin(std::optional<ApiResult>& result, ApiRequest request = Get()) {
    return client_->Send(std::move(request), [&](ApiResult r) { result = std::move(r); });
  }
};

TEST_F(ApiClientTest, SendsARequestWithItsHeader) {
  ServeReplies({JsonReply(200, R"({"a": 1})")});
  const ApiResult result = Send(Get("/api/v1/nodes/a?b=c"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->status, 200u);
  EXPECT_EQ(result->body, R"({"a": 1})");
  const ServerRequest& request = server_->requests().at(0);
  EXPECT_EQ(request.method_string(), "GET");
  EXPECT_EQ(request.target(), "/api/v1/nodes/a?b=c");
  EXPECT_EQ(request["Host"], "127.0.0.1:" + std::to_string(server_->port()));
  EXPECT_EQ(request["Authorization"], "Bearer token-1");
  EXPECT_EQ(request["Accept"], "application/json");
  EXPECT_EQ(request["Accept-Encoding"], "identity");
  EXPECT_EQ(request.count("Content-Length"), 0u);
}

TEST_F(ApiClientTest, SendsTheMethodAndBodyOfEachVerb) {
  ServeReplies({JsonReply(201, "{}")});
  const std::pair<ApiVerb, const char*> verbs[] = {{ApiVerb::kGet, "GET"},
                                                   {ApiVerb::kList, "GET"},
                                                   {ApiVerb::kCreate, "POST"},
                                                   {ApiVerb::kUpdate, "PUT"},
                                                   {ApiVerb::kDelete, "DELETE"}};
  for (const auto& [verb, method] : verbs) {
    const bool has_body = verb != ApiVerb::kGet && verb != ApiVerb::kList;
    const ApiResult result =
        Send({.verb = verb, .target = "/x", .body = has_body ? R"({"b": 2})" : ""});
    ASSERT_TRUE(result) << result.error().message;
    const ServerRequest& request = server_->requests().back();
    EXPECT_EQ(request.method_string(), method);
    EXPECT_EQ(request.body(), has_body ? R"({"b": 2})" : "");
    EXPECT_EQ(request.count("Content-Type"), has_body ? 1u : 0u);
  }
}

TEST_F(ApiClientTest, DoesNotConnectBeforeTheFirstRequest) {
  Serve();
  loop_.Advance(minutes(5));
  EXPECT_EQ(server_->connections(), 0u);
  EXPECT_FALSE(client_->stats().up);
  EXPECT_TRUE(client_->stats().requests.empty());
}

TEST_F(ApiClientTest, UsesAConnectionAgain) {
  ServeReplies(
      {JsonReply(200, "1"), JsonReply(404, "2"), {kChunkedHeader + Chunk("3") + Chunk("")}});
  EXPECT_TRUE(Send());
  EXPECT_FALSE(Send());
  EXPECT_EQ(Send()->body, "3");
  EXPECT_TRUE(Send());
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(ApiClientTest, ReadsABodyUntilTheEndOfAnHttp10Connection) {
  ServeReplies({{"HTTP/1.0 200 OK\r\n\r\nbody", Then::kClose}, JsonReply(200, "next")});
  EXPECT_EQ(Send()->body, "body");
  EXPECT_EQ(Send()->body, "next");
  EXPECT_EQ(server_->connections(), 2u);
}

TEST_F(ApiClientTest, RefusesABodyThatIsCutOff) {
  ServeReplies({{"HTTP/1.0 200 OK\r\n\r\nbody", Then::kTruncate}});
  EXPECT_THAT(Error(), AllOf(StartsWith("network: "), HasSubstr("within the response")));
}

TEST_F(ApiClientTest, ReportsAResetInTheHeaderAndInTheBody) {
  ServeReplies({{"HTTP/1.1 200 OK\r\nConte", Then::kReset},
                {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", Then::kReset},
                {kChunkedHeader + Chunk("abc"), Then::kClose},
                JsonReply(200, "{}")});
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Error(), StartsWith("network: "));
  EXPECT_EQ(server_->requests().size(), 3u);
  EXPECT_EQ(Requests(ApiVerb::kGet, "network"), 3u);
  EXPECT_FALSE(client_->stats().up);
  EXPECT_TRUE(Send());
  EXPECT_TRUE(client_->stats().up);
}

TEST_F(ApiClientTest, RepeatsAnIdempotentRequestOnAStaleConnection) {
  ServeReplies({JsonReply(200, "1"), {"", Then::kClose}, JsonReply(200, "2")});
  EXPECT_TRUE(Send());
  EXPECT_EQ(Send({.verb = ApiVerb::kUpdate, .target = "/x", .body = "{}"})->body, "2");
  EXPECT_EQ(server_->requests().size(), 3u);
  EXPECT_EQ(server_->connections(), 2u);
}

TEST_F(ApiClientTest, RepeatsARequestOnlyOnce) {
  ServeReplies({JsonReply(200, "1"), {"", Then::kReset}, {"", Then::kReset}, JsonReply(200, "2")});
  EXPECT_TRUE(Send());
  EXPECT_THAT(Error(), StartsWith("network: "));
  EXPECT_EQ(server_->requests().size(), 3u);
}

TEST_F(ApiClientTest, DoesNotRepeatACreation) {
  ServeReplies({JsonReply(200, "1"), {"", Then::kClose}, JsonReply(201, "2")});
  EXPECT_TRUE(Send());
  EXPECT_THAT(Error({.verb = ApiVerb::kCreate, .target = "/x", .body = "{}"}),
              AllOf(StartsWith("network: "), HasSubstr("before the response")));
  EXPECT_EQ(server_->requests().size(), 2u);
}

TEST_F(ApiClientTest, DoesNotRepeatARequestOnANewConnection) {
  ServeReplies({{"", Then::kClose}});
  EXPECT_THAT(Error(), StartsWith("network: "));
  EXPECT_EQ(server_->requests().size(), 1u);
}

TEST_F(ApiClientTest, LeavesAConnectionWithUnexpectedBytes) {
  ServeReplies({{JsonReply(200, "1").bytes + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"},
                JsonReply(200, "2")});
  EXPECT_EQ(Send()->body, "1");
  EXPECT_EQ(Send()->body, "2");
  EXPECT_EQ(server_->connections(), 2u);
}

/// The response fills the first record of TLS, so that the unexpected bytes are still encrypted.
TEST_F(ApiClientTest, LeavesAConnectionWithAnotherTlsRecord) {
  constexpr std::size_t kRecordBytes = 16 << 10;
  const std::size_t header =
      JsonReply(200, std::string(kRecordBytes, 'x')).bytes.size() - kRecordBytes;
  const Reply reply = JsonReply(200, std::string(kRecordBytes - header, 'x'));
  ASSERT_EQ(reply.bytes.size(), kRecordBytes);
  ServeReplies(
      {{reply.bytes + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"}, JsonReply(200, "2")});
  EXPECT_TRUE(Send());
  EXPECT_EQ(Send()->body, "2");
  EXPECT_EQ(server_->connections(), 2u);
}

TEST_F(ApiClientTest, LeavesAConnectionOnWhichBytesArriveLater) {
  ServeReplies({JsonReply(200, "1"), JsonReply(201, "2")});
  EXPECT_EQ(Send()->body, "1");
  server_->Write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
  EXPECT_EQ(Send({.verb = ApiVerb::kCreate, .target = "/x", .body = "{}"})->body, "2");
  EXPECT_EQ(server_->connections(), 2u);
}

TEST_F(ApiClientTest, LeavesAConnectionThatEndedWhileItWasIdle) {
  for (const Then end : {Then::kClose, Then::kTruncate, Then::kReset}) {
    ServeReplies({JsonReply(200, "1"), JsonReply(201, "2")});
    EXPECT_EQ(Send()->body, "1");
    server_->EndAll(end);
    EXPECT_EQ(Send({.verb = ApiVerb::kCreate, .target = "/x", .body = "{}"})->body, "2");
    EXPECT_EQ(server_->connections(), 2u);
  }
}

TEST_F(ApiClientTest, UsesTheConnectionOfARejectedTokenAgain) {
  Serve([](const ServerRequest& request) {
    return JsonReply(request["Authorization"] == "Bearer token-2" ? 200 : 401, "{}");
  });
  EXPECT_THAT(Error(), StartsWith("status: HTTP status 401"));
  tree_.File("token", "token-2");
  EXPECT_EQ(Error(), "no error: {}");
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(ApiClientTest, ConnectsAgainAfterARestartOfTheServer) {
  Serve();
  EXPECT_TRUE(Send());
  const unsigned short port = server_->port();
  server_.reset();
  EXPECT_THAT(Error(), AllOf(StartsWith("network: "), HasSubstr("refused"),
                             HasSubstr("check that the API server runs")));
  EXPECT_EQ(Requests(ApiVerb::kGet, "network"), 1u);
  server_.emplace(
      loop_.io(), authority_.Issue(), [](const ServerRequest&) { return JsonReply(200, "{}"); },
      port);
  EXPECT_EQ(Error(), "no error: {}");
}

TEST_F(ApiClientTest, ReturnsTheStatusOfTheApi) {
  ServeReplies({JsonReply(409, R"({"kind": "Status", "reason": "Conflict", "message": "changed"})"),
                JsonReply(410, R"({"kind": "Status", "reason": "Expired"})"),
                JsonReply(429, "", "Retry-After: 4\r\n"), JsonReply(500, "oops"),
                JsonReply(301, "", "Location: https://example.com/\r\n")});
  const ApiError conflict = Send().error();
  EXPECT_EQ(conflict.kind, ApiErrorKind::kStatus);
  EXPECT_EQ(conflict.status, 409u);
  EXPECT_EQ(conflict.reason, "Conflict");
  EXPECT_THAT(conflict.message, HasSubstr("changed"));
  EXPECT_EQ(Send().error().status, 410u);
  const ApiError busy = Send().error();
  EXPECT_EQ(busy.status, 429u);
  EXPECT_EQ(busy.retry_after, seconds(4));
  EXPECT_TRUE(client_->stats().up);
  EXPECT_EQ(Send().error().status, 500u);
  EXPECT_FALSE(client_->stats().up);
  EXPECT_EQ(Send().error().status, 301u);  // redirects are not followed
  EXPECT_THAT(client_->stats().requests,
              ElementsAre(Pair(Pair(ApiVerb::kGet, "301"), 1), Pair(Pair(ApiVerb::kGet, "409"), 1),
                          Pair(Pair(ApiVerb::kGet, "410"), 1), Pair(Pair(ApiVerb::kGet, "429"), 1),
                          Pair(Pair(ApiVerb::kGet, "500"), 1)));
}

TEST_F(ApiClientTest, UsesARotatedTokenAtOnceAfter401) {
  Serve([](const ServerRequest& request) {
    return JsonReply(request["Authorization"] == "Bearer token-2" ? 200 : 401, "{}");
  });
  EXPECT_THAT(Error(), StartsWith("status: HTTP status 401"));
  EXPECT_EQ(server_->requests().size(), 1u);  // not repeated with the same token
  tree_.File("token", "token-2");
  EXPECT_EQ(Error(), "no error: {}");
  EXPECT_EQ(Authorization(1), "Bearer token-1");
  EXPECT_EQ(Authorization(2), "Bearer token-2");
  tree_.File("token", "token-3");
  loop_.Advance(minutes(1));
  EXPECT_THAT(Error(), StartsWith("status: HTTP status 401"));
  EXPECT_EQ(Authorization(3), "Bearer token-3");
  EXPECT_EQ(server_->requests().size(), 4u);
}

TEST_F(ApiClientTest, ErrorsDoNotHaveTheToken) {
  const std::string token = "eyJhbGciOiJSUzI1NiIsInR5cCI6.IkpXVCJ9";
  tree_.File("token", token);
  const std::string echo = "Bearer " + token;
  const std::string status = R"({"kind": "Status", "code": 403, "reason": ")" + token +
                             R"(", "message": ")" + std::string(1'000, ' ') + echo + "\"}";
  ServeReplies({JsonReply(403, status),
                JsonReply(403, echo),
                JsonReply(200, echo),
                {"HTTP/1.1 403 " + echo + "\r\nContent-Length: 0\r\n\r\n"},
                {"HTTP/1.1 302 Found\r\nLocation: /" + echo + "\r\nContent-Length: 0\r\n\r\n"},
                {"HTTP/1.1 200 OK\r\nContent-Encoding: " + echo + "\r\n\r\n"},
                {"HTTP/1.1 200 OK\r\nTransfer-Encoding: " + echo + "\r\n\r\n"},
                {echo}});
  for (int i = 0; i < 8; ++i) {
    const ApiResult result = Send(Get());
    if (result) continue;  // the body of a success is passed on, not logged
    EXPECT_THAT(result.error().message, Not(HasSubstr("eyJ"))) << i;
    EXPECT_THAT(result.error().reason, Not(HasSubstr("eyJ"))) << i;
  }
  EXPECT_GE(server_->requests().size(), 8u);
}

TEST_F(ApiClientTest, ReportsTheCredentialsThatCannotBeRead) {
  Serve();
  tree_.Remove("token");
  EXPECT_THAT(Error(), AllOf(StartsWith("credentials: "), HasSubstr(tree_.path("token"))));
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(ApiClientTest, LimitsHeaderAndBody) {
  ServeReplies({{"HTTP/1.1 200 OK\r\nA: " + std::string(100'000, 'b') + "\r\n\r\n"},
                JsonReply(200, std::string(5000, 'x')),
                {"HTTP/1.0 200 OK\r\n\r\n" + std::string(200'000, 'x')},
                JsonReply(500, std::string(100'000, 'x')),
                JsonReply(200, std::string(4000, 'x'))});
  ApiRequest request = Get();
  request.max_body = 4000;
  EXPECT_THAT(Error(request), AllOf(StartsWith("response: "), HasSubstr("header is longer")));
  EXPECT_THAT(Error(request), AllOf(StartsWith("response: "), HasSubstr("body is longer")));
  EXPECT_THAT(Error(request), AllOf(StartsWith("response: "), HasSubstr("body is longer")));
  EXPECT_THAT(Error(request), AllOf(StartsWith("response: "), HasSubstr("body is longer")));
  EXPECT_TRUE(Send(request));
}

TEST_F(ApiClientTest, ReportsAResponseThatIsNotHttp) {
  ServeReplies(
      {{"SSH-2.0-OpenSSH_9.2\r\n"}, {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"}});
  EXPECT_THAT(Error(), StartsWith("response: the response is not valid"));
  EXPECT_THAT(Error(), AllOf(StartsWith("response: "), HasSubstr("an encoding")));
}

TEST_F(ApiClientTest, EndsASlowBodyAtTheDeadline) {
  ServeReplies({{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"}, JsonReply(200, "{}")});
  std::optional<ApiResult> result;
  const Subscription call = Begin(result);
  ASSERT_TRUE(AwaitRequests(1));
  loop_.Advance(seconds(29));
  server_->Write("def");
  EXPECT_FALSE(result);
  loop_.Advance(seconds(1));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->error().kind, ApiErrorKind::kTimeout);
  EXPECT_THAT(result->error().message, HasSubstr("waiting for the response"));
  EXPECT_TRUE(Send());
  EXPECT_EQ(server_->connections(), 2u);
}

TEST_F(ApiClientTest, EndsAtTheDeadlineWhileCredentialsAreRead) {
  Serve();
  std::optional<test::PoolHold> holds[4];
  for (auto& hold : holds) hold.emplace(pool_);
  std::optional<ApiResult> result;
  const Subscription call = Begin(result);
  RunReady(loop_);
  loop_.Advance(seconds(30));
  ASSERT_TRUE(result);
  EXPECT_THAT(result->error().message, HasSubstr("reading the credentials"));
}

TEST_F(ApiClientTest, EndsAtTheDeadlineWhileANameIsResolved) {
  ServeReplies({JsonReply(200, "{}", "Connection: close\r\n")});
  Connect(Config("localhost"));
  EXPECT_TRUE(Send());  // afterwards the credentials are cached
  std::optional<test::PoolHold> holds[4];
  for (auto& hold : holds) hold.emplace(pool_);
  std::optional<ApiResult> result;
  const Subscription call = Begin(result);
  RunReady(loop_);
  loop_.Advance(seconds(30));
  ASSERT_TRUE(result);
  EXPECT_THAT(result->error().message, HasSubstr("resolving the name"));
}

TEST_F(ApiClientTest, ReportsAnUnknownName) {
  Serve();
  ClusterConfig config = Config("localhost");
  config.host = "name.invalid";
  Connect(config);
  EXPECT_THAT(Error(), AllOf(StartsWith("network: cannot resolve name.invalid"),
                             HasSubstr("check the name")));
}

TEST_F(ApiClientTest, LimitsTheConnections) {
  ServeReplies({{""}});
  std::vector<std::optional<ApiResult>> results(ApiClient::kMaxConnections + 2);
  std::vector<Subscription> calls(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    ApiRequest request = Get("/" + std::to_string(i));
    request.verb = ApiVerb::kList;
    if (i == 5) request.deadline = seconds(10);
    calls[i] = Begin(results[i], std::move(request));
  }
  ASSERT_TRUE(AwaitRequests(ApiClient::kMaxConnections));
  EXPECT_EQ(server_->connections(), ApiClient::kMaxConnections);
  calls[0] = {};  // a canceled request makes room for the next one
  ASSERT_TRUE(AwaitRequests(ApiClient::kMaxConnections + 1));
  EXPECT_EQ(server_->requests().back().target(), "/4");
  loop_.Advance(seconds(10));
  ASSERT_TRUE(results[5]);
  EXPECT_THAT(results[5]->error().message, HasSubstr("waiting for a free connection"));
  EXPECT_FALSE(results[0]);
}

TEST_F(ApiClientTest, ManyObjectsThatAreReadLeaveAConnectionForOtherRequests) {
  ServeReplies({{""}});
  std::vector<std::optional<ApiResult>> results(ApiClient::kMaxConnections + 1);
  std::vector<Subscription> calls;
  for (auto& result : results) calls.push_back(Begin(result, Get("/object")));
  ASSERT_TRUE(AwaitRequests(ApiClient::kMaxConnections - 1));
  ApiRequest list = Get("/list");
  list.verb = ApiVerb::kList;
  std::optional<ApiResult> listed;
  calls.push_back(Begin(listed, std::move(list)));
  ASSERT_TRUE(AwaitRequests(ApiClient::kMaxConnections));
  EXPECT_EQ(server_->requests().back().target(), "/list");
}

TEST_F(ApiClientTest, RefusesInvalidAndTooManyRequests) {
  Serve();
  EXPECT_THAT(Error(Get("/a\r\nHost: b")), StartsWith("request: the path"));
  EXPECT_THAT(Error({.verb = ApiVerb::kCreate,
                     .target = "/a",
                     .body = std::string(ApiClient::kMaxRequestBytes + 1, 'x')}),
              StartsWith("request: the request is longer"));
  EXPECT_EQ(server_->connections(), 0u);
  std::vector<Subscription> calls;
  calls.reserve(ApiClient::kMaxPending);
  for (std::size_t i = 0; i < ApiClient::kMaxPending; ++i) {
    calls.push_back(client_->Send(Get(), [](const ApiResult&) {}));
  }
  EXPECT_THAT(Error(), StartsWith("request: too many requests"));
}

TEST_F(ApiClientTest, CanceledRequestsCallNothing) {
  ServeReplies({{"HTTP/1.1 200 OK\r\n"}, JsonReply(200, "{}")});
  std::optional<ApiResult> result;
  Subscription call = Begin(result);
  call = {};
  call = Begin(result);
  ASSERT_TRUE(AwaitRequests(1));
  call = {};
  EXPECT_TRUE(Send());
  loop_.Advance(minutes(1));
  EXPECT_FALSE(result);
  EXPECT_EQ(server_->requests().size(), 2u);
}

TEST_F(ApiClientTest, DestroyingTheClientCallsNothing) {
  ServeReplies({{"HTTP/1.1 200 OK\r\n"}});
  std::optional<ApiResult> waiting, sent;
  const Subscription first = Begin(sent);
  ASSERT_TRUE(AwaitRequests(1));
  const Subscription second = Begin(waiting);
  client_.reset();
  loop_.Advance(minutes(1));
  Connect(Config());
  ServeReplies({JsonReply(200, "{}")});
  EXPECT_TRUE(Send());
  EXPECT_FALSE(sent);
  EXPECT_FALSE(waiting);
}

TEST_F(ApiClientTest, ACanceledRequestReleasesItsFunctionAtOnce) {
  ServeReplies({{""}});
  auto owned = std::make_shared<int>();
  const std::weak_ptr<int> released = owned;
  Subscription call = client_->Send(Get(), [owned = std::move(owned)](const ApiResult&) {});
  ASSERT_TRUE(AwaitRequests(1));
  call = {};
  EXPECT_TRUE(released.expired());
}

/// Requests in three stages are canceled, and the loop ends without running again.
TEST_F(ApiClientTest, TheLoopMayEndRightAfterTheClient) {
  test::NetLoop loop;
  server_.emplace(loop.io(), authority_.Issue(),
                  [](const ServerRequest&) { return Reply{"HTTP/1.1 200 OK\r\n"}; });
  {
    ThreadPool pool(loop, {.max_running = 1});
    std::optional<test::PoolHold> hold;
    std::vector<Subscription> calls;
    ApiClient client(Config("localhost"), loop, loop.io(), pool);
    ApiClient without_credentials(Config("localhost"), loop, loop.io(), pool);
    const auto send = [&](ApiClient& from) {
      calls.push_back(from.Send(Get(), [](const ApiResult&) { ADD_FAILURE(); }));
    };
    send(client);
    ASSERT_TRUE(loop.RunUntil([&] { return !server_->requests().empty(); }));
    hold.emplace(pool);
    send(client);
    send(without_credentials);
    RunReady(loop);
    EXPECT_EQ(client.pending() + without_credentials.pending(), 3u);
  }
  server_.reset();
}

TEST_F(ApiClientTest, AFunctionMayDestroyTheClient) {
  ServeReplies({JsonReply(200, "{}"), {kChunkedHeader + Chunk("a") + Chunk("b")}});
  bool done = false;
  const Subscription call = client_->Send(Get(), [&](const ApiResult&) {
    client_.reset();
    done = true;
  });
  EXPECT_TRUE(loop_.RunUntil([&] { return done; }));
  Connect(Config());
  done = false;
  const Subscription watch = client_->Watch(Get(), {.on_begin = [] {},
                                                    .on_part =
                                                        [&](const std::string&) {
                                                          client_.reset();
                                                          done = true;
                                                        },
                                                    .on_end = [](const ApiResult&) { FAIL(); }});
  EXPECT_TRUE(loop_.RunUntil([&] { return done; }));
  loop_.Advance(minutes(10));
}

TEST_F(ApiClientTest, WorksWithoutTlsOnLoopback) {
  server_.emplace(loop_.io(), std::nullopt,
                  [](const ServerRequest&) { return JsonReply(200, "plain"); });
  Connect(ClusterConfigFrom({.server = "http://127.0.0.1:" + std::to_string(server_->port())},
                            PlainHttp::kOnLoopback)
              .value());
  EXPECT_EQ(Error(), "no error: plain");
  EXPECT_EQ(Authorization(0), "");
}

TEST_F(ApiClientTest, RunsOnTheLoopOfTheProgram) {
  AsioLoop loop;
  test::TlsServer server(loop.context(), authority_.Issue(),
                         [](const ServerRequest&) { return JsonReply(200, "{}"); });
  ClusterConfig config =
      ClusterConfigInPod("127.0.0.1", std::to_string(server.port()), tree_.path()).value();
  ThreadPool pool(loop);
  ApiClient client(config, loop, loop.context(), pool);
  std::optional<ApiResult> result;
  const Subscription call = client.Send(Get(), [&](ApiResult r) {
    result = std::move(r);
    loop.Stop();
  });
  loop.Run();
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->has_value());
}

}  // namespace
}  // namespace patchbay
