#include "http/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>
#include <semaphore>

#include "client.h"
#include "gunzip.h"
#include "http/page_files.h"

namespace patchbay {
namespace {

class RoutesTest : public ::testing::Test {
 protected:
  static HttpResponse Whole(const HttpAnswer& answer) {
    const auto* const slow = std::get_if<SlowHttpResponse>(&answer);
    return slow != nullptr ? (*slow)() : std::get<HttpResponse>(answer);
  }
  static HttpResponse Unpacked(const HttpAnswer& answer) {
    HttpResponse response = Whole(answer);
    EXPECT_TRUE(response.gzip);
    response.body = test::Gunzip(response.body);
    return response;
  }
  HttpAnswer AskCompressed(const std::string& path) {
    return handler_({.path = path, .takes_gzip = true});
  }
  HttpAnswer Ask(const std::string& path, const std::string& tags = "") {
    return handler_({.path = path, .if_none_match = tags});
  }
  HttpResponse Get(const std::string& path, const std::string& tags = "") {
    return Whole(Ask(path, tags));
  }
  std::string MakeMetrics() {
    making_.release();
    if (failing_) throw std::bad_alloc();
    if (held_up_ && !go_on_.try_acquire_for(std::chrono::seconds(10))) return "held up";
    return "m " + std::to_string(++scrapes_) + "\n";
  }

  bool held_up_ = false;
  bool failing_ = false;
  std::counting_semaphore<> making_{0}, go_on_{0};
  int scrapes_ = 0;

  CheckResult alive_{true, ""}, ready_{true, ""};
  NodeStatus status_;
  HttpHandler handler_ = MakeRoutes({.metrics = [this] { return MakeMetrics(); },
                                     .alive = [this] { return alive_; },
                                     .ready = [this] { return ready_; },
                                     .status = [this] { return status_; },
                                     .suggestions = [] { return "{}"; }});
};

TEST_F(RoutesTest, ServesSuggestionsOnlyIfThePageShowsThem) {
  EXPECT_EQ(Get("/api/v1/suggestions").status, 404);
  EXPECT_THAT(Get("/api/v1/status").body, testing::HasSubstr("\"suggest_page\":false"));
  status_.suggest_page = true;
  const HttpResponse response = Get("/api/v1/suggestions");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(response.body, "{}");
  EXPECT_THAT(Get("/api/v1/status").body, testing::HasSubstr("\"suggest_page\":true"));
}

TEST_F(RoutesTest, ServesMetricsInPrometheusFormat) {
  const HttpResponse response = Get("/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(response.body, "m 1\n");
}

TEST_F(RoutesTest, HealthzReportsLiveness) {
  EXPECT_EQ(Get("/healthz").status, 200);
  EXPECT_EQ(Get("/healthz").body, "ok\n");
  alive_ = {false, "the loop stands still\n"};
  EXPECT_EQ(Get("/healthz").status, 503);
  EXPECT_EQ(Get("/healthz").body, "the loop stands still\n");
}

TEST_F(RoutesTest, ReadyzReportsMissingResources) {
  EXPECT_EQ(Get("/readyz").body, "ok\n");
  ready_ = {false, "a/b: not registered\nc/d: not registered\n"};
  EXPECT_EQ(Get("/readyz").status, 503);
  EXPECT_EQ(Get("/readyz").body, "a/b: not registered\nc/d: not registered\n");
}

TEST_F(RoutesTest, ListsItsPaths) {
  const HttpResponse index = Get("/");
  EXPECT_EQ(index.status, 200);
  EXPECT_EQ(index.content_type, "text/html; charset=utf-8");
  for (const char* path : {"/metrics", "/healthz", "/readyz", "/api/v1/status"}) {
    EXPECT_NE(index.body.find(path), std::string::npos);
  }
}

TEST_F(RoutesTest, RespondsNotModifiedToAnUnchangedStatus) {
  const HttpResponse first = Get("/api/v1/status");
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.content_type, "application/json");
  EXPECT_TRUE(nlohmann::json::parse(first.body).contains("generated_at")) << first.body;
  const HttpResponse same = Get("/api/v1/status", "\"other\", W/" + first.etag);
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.body, "");
  EXPECT_EQ(same.etag, first.etag);
  ++status_.serial;
  EXPECT_EQ(Get("/api/v1/status", first.etag).status, 200);
}

TEST_F(RoutesTest, RendersTheNewestStatus) {
  status_.serial = 7;
  status_.node_name = "old";
  const HttpAnswer waiting = Ask("/api/v1/status");
  const HttpResponse first = Whole(waiting);
  EXPECT_EQ(nlohmann::json::parse(first.body)["node"], "old");
  status_.serial = 9;
  status_.node_name = "new";
  const HttpResponse second = Whole(waiting);
  EXPECT_EQ(nlohmann::json::parse(second.body)["node"], "new");
  EXPECT_NE(second.etag, first.etag);
  EXPECT_EQ(Get("/api/v1/status", second.etag).status, 304);
}

TEST_F(RoutesTest, MetricsAreRenderedForEachRequest) {
  const HttpAnswer first = Ask("/metrics"), second = AskCompressed("/metrics");
  EXPECT_EQ(Whole(first).body, "m 1\n");
  EXPECT_EQ(Unpacked(second).body, "m 2\n");
}

TEST_F(RoutesTest, RendersMetricsAgainAfterAFailure) {
  const HttpAnswer first = Ask("/metrics"), second = Ask("/metrics");
  failing_ = true;
  EXPECT_THROW(Whole(first), std::bad_alloc);
  failing_ = false;
  EXPECT_EQ(Whole(second).body, "m 1\n");
}

TEST_F(RoutesTest, CompressesMetricsIfAccepted) {
  const HttpResponse response = Unpacked(AskCompressed("/metrics"));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(response.body, "m 1\n");
  EXPECT_FALSE(Get("/metrics").gzip);
  EXPECT_FALSE(Whole(AskCompressed("/healthz")).gzip);
}

TEST_F(RoutesTest, ServesTheFilesOfThePage) {
  const std::pair<const char*, const char*> types[] = {
      {"/", "text/html; charset=utf-8"},
      {"/page.css", "text/css; charset=utf-8"},
      {"/page.js", "text/javascript; charset=utf-8"},
      {"/icon.svg", "image/svg+xml"}};
  for (const auto& [path, type] : types) {
    const HttpResponse file = Get(path);
    EXPECT_EQ(file.status, 200) << path;
    EXPECT_EQ(file.content_type, type);
    EXPECT_FALSE(file.body.empty());
    EXPECT_EQ(Get(path, file.etag).status, 304) << path;
  }
  for (const PageFile& file : PageFiles()) {
    EXPECT_EQ(Get("/" + std::string(file.name)).body, file.bytes) << file.name;
  }
}

TEST_F(RoutesTest, RespondsNotFoundForOtherPaths) {
  for (const char* path : {"/metrics/", "/page.html", "/api/v1/status/", "/api", "/Metrics", "//",
                           "/..", "/healthz/x"}) {
    EXPECT_EQ(Get(path).status, 404) << path;
  }
}

TEST_F(RoutesTest, WorksBehindAServer) {
  Log log(LogLevel::kError, LogFormat::kText, std::cerr);
  const auto server = HttpServer::Create("127.0.0.1:0", handler_, log);
  ASSERT_TRUE(server) << server.error().message;
  test::Client client(test::PortOf(**server));
  EXPECT_EQ(client.Get("/metrics?x=y").body, "m 1\n");
  client.Send("GET /metrics HTTP/1.1\r\nHost: test\r\nAccept-Encoding: gzip\r\n\r\n");
  const test::Response packed = client.Read();
  EXPECT_EQ(packed.header.at("content-encoding"), "gzip");
  EXPECT_EQ(test::Gunzip(packed.body), "m 2\n");
  client.Send(
      "HEAD /metrics HTTP/1.1\r\nHost: test\r\nAccept-Encoding: br\r\nAccept-Encoding: "
      "gzip\r\n\r\n");
  const test::Response head = client.Read(true);
  EXPECT_EQ(head.header.at("content-encoding"), "gzip");
  EXPECT_EQ(head.header.at("content-length"), std::to_string(packed.body.size()));
  EXPECT_EQ(client.Get("/metrics").header.count("content-encoding"), 0U);
  EXPECT_EQ(client.Get("/healthz", "HEAD").status, 200);
  EXPECT_EQ(client.Get("/nothing").status, 404);
  const test::Response page = client.Get("/");
  client.Send("GET / HTTP/1.1\r\nHost: test\r\nIf-None-Match: " + page.header.at("etag") +
              "\r\n\r\n");
  const test::Response same = client.Read();
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.header.at("content-length"), "");  // none
  EXPECT_EQ(client.Get("/healthz").status, 200);    // on the same connection
}

TEST_F(RoutesTest, HealthzRespondsWhileMetricsAreSlow) {
  held_up_ = true;
  std::counting_semaphore<> asked(0);
  const auto handler = [&](const HttpRequest& request) {
    HttpAnswer answer = handler_(request);
    if (request.path == "/metrics") asked.release();
    return answer;
  };
  Log log(LogLevel::kError, LogFormat::kText, std::cerr);
  const auto server = HttpServer::Create("127.0.0.1:0", handler, log);
  ASSERT_TRUE(server) << server.error().message;
  const auto ask = [&](test::Client& client) {
    client.Send("GET /metrics HTTP/1.1\r\n\r\n");
    return asked.try_acquire_for(std::chrono::seconds(10));
  };
  const int port = test::PortOf(**server);
  test::Client first(port), probe(port), page(port);
  ASSERT_TRUE(ask(first));
  ASSERT_TRUE(making_.try_acquire_for(std::chrono::seconds(10)));
  page.Send("GET /api/v1/status HTTP/1.1\r\n\r\n");
  std::vector<std::unique_ptr<test::Client>> more;
  for (int i = 0; i < 20; ++i) {
    more.push_back(std::make_unique<test::Client>(port));
    ASSERT_TRUE(ask(*more.back()));
  }
  for (const char* path : {"/healthz", "/readyz", "/"}) {
    EXPECT_EQ(probe.Get(path).status, 200);
    EXPECT_EQ(test::Client(port).Get(path).status, 200);
  }
  go_on_.release(1 + static_cast<std::ptrdiff_t>(more.size()));
  EXPECT_EQ(first.Read().body, "m 1\n");
  for (std::size_t i = 0; i < more.size(); ++i) {
    EXPECT_EQ(more[i]->Read().body, "m " + std::to_string(i + 2) + "\n");
  }
  EXPECT_EQ(page.Read().status, 200);
}

}  // namespace
}  // namespace patchbay
