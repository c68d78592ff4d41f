#include "http/routes.h"

#include <gtest/gtest.h>

#include <iostream>

#include "client.h"

namespace patchbay {
namespace {

class RoutesTest : public ::testing::Test {
 protected:
  HttpResponse Get(const std::string& path) { return handler_({"GET", path, ""}); }

  Verdict alive_{true, ""}, ready_{true, ""};
  HttpHandler handler_ = MakeRoutes({.metrics = [] { return std::string("m 1\n"); },
                                     .alive = [this] { return alive_; },
                                     .ready = [this] { return ready_; }});
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
  for (const char* path : {"/metrics", "/healthz", "/readyz"}) {
    EXPECT_NE(index.body.find(path), std::string::npos);
  }
}

TEST_F(RoutesTest, KnowsNoOtherPath) {
  for (const char* path : {"/metrics/", "/Metrics", "//", "/..", "/healthz/x"}) {
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
}

}  // namespace
}  // namespace patchbay
