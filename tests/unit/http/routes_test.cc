#include "http/routes.h"

#include <gtest/gtest.h>

#include <iostream>

#include "client.h"

namespace patchbay {
namespace {

class RoutesTest : public ::testing::Test {
 protected:
  HttpResponse Get(const std::string& path, const std::string& tags = "") {
    return handler_({"GET", path, "", tags});
  }

  Verdict alive_{true, ""}, ready_{true, ""};
  NodeStatus status_;
  HttpHandler handler_ = MakeRoutes({.metrics = [] { return std::string("m 1\n"); },
                                     .alive = [this] { return alive_; },
                                     .ready = [this] { return ready_; },
                                     .status = [this] { return status_; }});
};

TEST_F(RoutesTest, ServesMetricsAsPrometheusWantsThem) {
  const HttpResponse response = Get("/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(response.body, "m 1\n");
}

TEST_F(RoutesTest, TellsWhetherItIsAlive) {
  EXPECT_EQ(Get("/healthz").status, 200);
  EXPECT_EQ(Get("/healthz").body, "ok\n");
  alive_ = {false, "the loop stands still"};
  EXPECT_EQ(Get("/healthz").status, 503);
  EXPECT_EQ(Get("/healthz").body, "the loop stands still\n");
}

TEST_F(RoutesTest, TellsWhatIsMissing) {
  EXPECT_EQ(Get("/readyz").body, "ok\n");
  ready_ = {false, "a/b: not registered\nc/d: not registered\n"};
  EXPECT_EQ(Get("/readyz").status, 503);
  EXPECT_EQ(Get("/readyz").body, "a/b: not registered\nc/d: not registered\n");
  ready_ = {false, ""};
  EXPECT_EQ(Get("/readyz").body, "not ok\n");
}

TEST_F(RoutesTest, ListsItsPaths) {
  const HttpResponse index = Get("/");
  EXPECT_EQ(index.status, 200);
  EXPECT_EQ(index.content_type, "text/html; charset=utf-8");
  for (const char* path : {"/metrics", "/healthz", "/readyz", "/api/v1/status"}) {
    EXPECT_NE(index.body.find(path), std::string::npos);
  }
}

TEST_F(RoutesTest, SendsTheStatusAgainOnlyWhenItChanged) {
  const HttpResponse first = Get("/api/v1/status");
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.content_type, "application/json");
  EXPECT_TRUE(first.body.starts_with("{\"version\":")) << first.body;
  const HttpResponse same = Get("/api/v1/status", "\"other\", W/" + first.etag);
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.body, "");
  EXPECT_EQ(same.etag, first.etag);
  ++status_.serial;
  EXPECT_EQ(Get("/api/v1/status", first.etag).status, 200);
}

TEST_F(RoutesTest, HasTheFilesOfThePage) {
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
}

TEST_F(RoutesTest, KnowsNoOtherPath) {
  for (const char* path : {"/metrics/", "/page.html", "/api/v1/status/", "/api", "/Metrics", "//",
                           "/..", "/healthz/x"}) {
    EXPECT_EQ(Get(path).status, 404) << path;
  }
}

TEST_F(RoutesTest, WorksBehindAServer) {
  Log log(LogLevel::kError, LogFormat::kText, std::cerr);
  const auto server = HttpServer::Create("127.0.0.1:0", handler_, log);
  ASSERT_TRUE(server) << server.error().message;
  test::Client client((*server)->port());
  EXPECT_EQ(client.Get("/metrics?x=y").body, "m 1\n");
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

}  // namespace
}  // namespace patchbay
