#pragma once

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/api_request.h"
#include "kube/credentials.h"
#include "kube/response_reader.h"
#include "model/cluster_config.h"

namespace patchbay {

using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;

/// Returns the addresses of a host name, at most eight, in the order of preference. Fails with
/// kUnavailable. Blocks, possibly for long: run it in a thread pool. Asio's own thread for this
/// ends only when a lookup does, which would delay the shutdown.
Result<Endpoints> Resolve(const std::string& host, std::uint16_t port);

/// A connection to the API server, for one exchange after the other. It has no deadlines: its owner
/// closes it. Belongs to the thread that runs the context. The caller keeps it alive while it
/// awaits one of the coroutines.
class ApiConnection : public std::enable_shared_from_this<ApiConnection> {
 public:
  using Done = tl::expected<void, ApiError>;

  ApiConnection(boost::asio::io_context& io, const ClusterConfig& config,
                CredentialCache::Shared credentials);
  ApiConnection(const ApiConnection&) = delete;
  ApiConnection& operator=(const ApiConnection&) = delete;

  /// Connects to the first endpoint that accepts, and verifies the server. Called once.
  boost::asio::awaitable<Done> Open(Endpoints endpoints);
  /// Begins an exchange: sends `request`, header and body.
  void Send(std::string request, std::size_t max_body);
  /// Reads some bytes of the response, until response().is_done().
  boost::asio::awaitable<Done> Read();
  /// Closes the connection now. What is awaited fails soon, even if it was completed before.
  void Close();

  /// The response of the exchange. Only after Send.
  ResponseReader& response() { return *response_; }
  /// Returns whether the connection can be used for another exchange: the last one is complete, and
  /// neither further bytes nor the end of the connection have arrived since.
  bool IsIdle();
  /// Returns the credentials that it was opened with.
  const Credentials& credentials() const { return *credentials_; }

 private:
  tl::unexpected<ApiError> NetworkError(std::string_view problem) const;

  boost::asio::ip::tcp::socket socket_;
  const ClusterConfig config_;
  const CredentialCache::Shared credentials_;
  std::optional<boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>> tls_;
  std::string request_;
  bool is_writing_ = false;
  bool is_closed_ = false;
  std::optional<ResponseReader> response_;
  std::array<char, 16 << 10> buffer_;
};

}  // namespace patchbay
