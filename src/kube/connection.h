#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/api_request.h"
#include "kube/credentials.h"
#include "kube/response_reader.h"
#include "model/cluster_config.h"

namespace patchbay {

/// The end of an exchange.
struct ExchangeEnd {
  /// Of any status. The body of a stream is empty; `retry_after` is "" without that header.
  struct Response {
    unsigned status = 0;
    std::string retry_after;
    std::string body;
  };
  tl::expected<Response, ApiError> response;
  bool has_begun = false;  ///< at least one byte of the response arrived
};

/// One request and the functions that receive its response.
struct Exchange {
  std::string request;  ///< header and body, as they are sent
  ResponseLimits limits;
  std::function<void(ExchangeEnd)> on_end;
  /// If set, a response with a status of 200 to 299 is a stream: called first with "" when the
  /// header is complete, and then with each part of the body.
  std::function<void(std::string)> on_part = nullptr;
};

/// A connection to the API server, for one exchange after the other. It always reads, so it detects
/// that the server closes it while it is idle. It has no deadlines; its owner closes it.
///
/// Belongs to the thread that runs the context. Pending operations keep it alive. Functions are
/// never called before the method that they are passed to returns, and can destroy the owner.
class ApiConnection : public std::enable_shared_from_this<ApiConnection> {
 public:
  using Opened = std::function<void(std::optional<ApiError>)>;

  ApiConnection(boost::asio::io_context& io, const ClusterConfig& config,
                CredentialCache::Shared credentials);
  ApiConnection(const ApiConnection&) = delete;
  ApiConnection& operator=(const ApiConnection&) = delete;

  /// Connects to the first endpoint that accepts, and verifies the server. Called once.
  void Open(std::vector<boost::asio::ip::tcp::endpoint> endpoints, Opened done);
  /// Starts an exchange. Precondition: is_idle().
  void Send(Exchange exchange);
  /// Closes the connection now. Drops the functions without calling them.
  void Close();

  /// Returns whether the connection is open without an exchange.
  bool is_idle() const { return is_open_ && !exchange_ && !is_writing_; }
  /// Returns the credentials that it was opened with.
  const Credentials& credentials() const { return *credentials_; }

 private:
  using Error = boost::system::error_code;

  void Connect(std::size_t index, Error last);
  void Handshake();
  void OnOpened(std::optional<ApiError> error);
  void Read();
  void OnRead(const Error& error, std::size_t size);
  void OnProgress();
  void OnEof(const Error& error);
  void End(tl::expected<ExchangeEnd::Response, ApiError> response);
  ApiError NetworkError(std::string_view problem) const;

  boost::asio::ip::tcp::socket socket_;
  const ClusterConfig config_;
  const CredentialCache::Shared credentials_;
  std::optional<boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>> tls_;
  std::vector<boost::asio::ip::tcp::endpoint> endpoints_;
  Opened opened_;
  bool is_open_ = false;
  bool is_writing_ = false;
  bool has_reported_header_ = false;
  std::optional<Exchange> exchange_;
  std::optional<ResponseReader> reader_;
  std::array<char, 16 << 10> buffer_;
};

}  // namespace patchbay
