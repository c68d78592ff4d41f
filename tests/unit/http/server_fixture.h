#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <semaphore>
#include <sstream>
#include <stdexcept>
#include <string>

#include "client.h"
#include "http/server.h"

namespace patchbay::test {

/// A server that echoes the request, with the special paths /throw, /throw-later, /slow and /big.
class HttpServerFixture : public ::testing::Test {
 protected:
  void Serve(HttpLimits limits = {}) {
    const auto handler = [this](const HttpRequest& request) -> HttpAnswer {
      if (request.path == "/throw") throw std::runtime_error("no\nway");
      if (request.path == "/throw-later") {
        return []() -> HttpResponse { throw std::runtime_error("not\nnow"); };
      }
      if (request.path == "/slow") return [this] { return MakeSlowly(); };
      if (request.path == "/big") {
        return HttpResponse{.body = std::string(std::size_t{64} << 20, 'x')};
      }
      return HttpResponse{.body = request.path};
    };
    auto created = HttpServer::Create("127.0.0.1:0", handler, log_, limits);
    ASSERT_TRUE(created) << created.error().message;
    server_ = *std::move(created);
  }
  int port() const { return PortOf(*server_); }

  /// Waits until the test releases `go_on_`.
  HttpResponse MakeSlowly() {
    making_.release();
    const bool may_go_on = go_on_.try_acquire_for(std::chrono::seconds(10));
    return {.body = may_go_on ? "slow" : "not released"};
  }
  bool AwaitMaking() { return making_.try_acquire_for(std::chrono::seconds(10)); }

  std::counting_semaphore<> making_{0}, go_on_{0};
  std::ostringstream logged_;
  Log log_{LogLevel::kDebug, LogFormat::kText, logged_};
  std::unique_ptr<HttpServer> server_;
};

}  // namespace patchbay::test
