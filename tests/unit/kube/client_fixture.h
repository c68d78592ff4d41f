#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/api_client.h"
#include "support/net_loop.h"
#include "support/temp_tree.h"
#include "support/tls_server.h"

namespace patchbay::test {

/// A client and a server with TLS. The handler of the server is ServerFixture::reply_, unless a
/// test replaces it.
class ClientFixture : public ::testing::Test {
 protected:
  ClientFixture() {
    tree_.File("ca.crt", authority_.pem());
    tree_.File("token", "token-1\n");
  }

  ClusterConfig Config(const std::string& host = "127.0.0.1") const {
    const ClusterSettings settings{
        .server = "https://" + host + ":" + std::to_string(server_->port()),
        .ca = tree_.path("ca.crt"),
        .token_file = tree_.path("token")};
    return ClusterConfigFrom(settings).value();
  }

  /// Starts the server, and a client of it.
  void Serve(TlsServer::Handler handler = [](const ServerRequest&) {
    return JsonReply(200, "{}");
  }) {
    server_.emplace(loop_.io(), authority_.Issue(), std::move(handler));
    Connect(Config());
  }
  /// Serves the replies one after the other; the last one again and again.
  void ServeReplies(std::vector<Reply> replies) {
    Serve([replies = std::move(replies), next = std::size_t{0}](const ServerRequest&) mutable {
      const std::size_t index = std::min(next++, replies.size() - 1);
      return replies[index];
    });
  }
  void Connect(const ClusterConfig& config) {
    client_ = std::make_unique<ApiClient>(config, loop_, loop_.io(), pool_);
  }

  static ApiRequest Get(const std::string& target = "/api") { return {.target = target}; }

  /// Sends a request and waits for its result.
  ApiResult Send(ApiRequest request = Get()) {
    std::optional<ApiResult> result;
    const Subscription call =
        client_->Send(std::move(request), [&](ApiResult r) { result = std::move(r); });
    if (!loop_.RunUntil([&] { return result.has_value(); })) {
      return ApiFail(ApiErrorKind::kRequest, "the test waited too long");
    }
    return *std::move(result);
  }
  /// The kind and message of the error of a request that must fail.
  std::string Error(ApiRequest request = Get()) {
    const ApiResult result = Send(std::move(request));
    if (result) return "no error: " + result->body;
    return std::string(kApiErrorKindNames[static_cast<std::size_t>(result.error().kind)]) + ": " +
           result.error().message;
  }

  /// Returns the count of a verb and an outcome.
  std::uint64_t Requests(ApiVerb verb, const std::string& outcome) const {
    const auto found = client_->stats().requests.find({verb, outcome});
    return found == client_->stats().requests.end() ? 0 : found->second;
  }
  /// Runs what is ready, until the client waits for the pool or the server.
  static void RunReady(NetLoop& loop) {
    while (loop.RunPosted() || loop.io().poll_one() > 0) {
    }
  }
  bool AwaitRequests(std::size_t number) {
    return loop_.RunUntil([&] { return server_->requests().size() >= number; });
  }
  std::string Authorization(std::size_t request) const {
    return std::string(server_->requests().at(request)["Authorization"]);
  }

  TempTree tree_;
  CertificateAuthority authority_;
  NetLoop loop_;
  ThreadPool pool_{loop_, {.patience = std::chrono::hours(1)}};  ///< stays full while it is held
  std::optional<TlsServer> server_;
  std::unique_ptr<ApiClient> client_;
};

}  // namespace patchbay::test
