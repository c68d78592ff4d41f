// A request is written while its response is read, because a server may respond and then stop
// reading. A failed write is therefore not reported: the read fails as well if no response was
// sent.

#include "kube/connection.h"

#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "kube/tls_context.h"

namespace patchbay {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// A server that does not respond to the kernel's probes for half a minute is lost. Without them, a
/// watch of a lost server would stay silent until its deadline. An address that does not respond is
/// given up after about seven seconds, in time for the next one.
void SetSocketOptions(int fd) {
  const auto set = [fd](int level, int option, int value) {
    setsockopt(fd, level, option, &value, sizeof(value));  // a failure costs only time
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
  set(IPPROTO_TCP, TCP_SYNCNT, 2);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

bool IsOfTls(const error_code& error) {
  return error.category() == asio::error::get_ssl_category();
}

}  // namespace

Result<Endpoints> Resolve(const std::string& host, std::uint16_t port) {
  constexpr std::size_t kMaxAddresses = 8;
  asio::io_context io;
  error_code error;
  const auto found = tcp::resolver(io).resolve(
      host, std::to_string(port),
      tcp::resolver::address_configured | tcp::resolver::numeric_service, error);
  if (error) {
    return Fail(ErrorKind::kUnavailable,
                Format("cannot resolve {}: {}; check the name and the DNS of this node", host,
                       error.message()));
  }
  Endpoints endpoints(found.begin(), found.end());
  if (endpoints.size() > kMaxAddresses) endpoints.resize(kMaxAddresses);
  return endpoints;
}

ApiConnection::ApiConnection(asio::io_context& io, const ClusterConfig& config,
                             CredentialCache::Shared credentials)
    : socket_(io), config_(config), credentials_(std::move(credentials)) {}

tl::unexpected<ApiError> ApiConnection::NetworkError(std::string_view problem) const {
  return ApiFail(ApiErrorKind::kNetwork, Format("{}: {}", UrlOf(config_), Printable(problem)));
}

asio::awaitable<ApiConnection::Done> ApiConnection::Open(Endpoints endpoints) {
  error_code error = asio::error::host_not_found;
  for (const tcp::endpoint& endpoint : endpoints) {
    error_code ignored;
    socket_.close(ignored);
    socket_.open(endpoint.protocol(), error);
    if (error) continue;
    SetSocketOptions(socket_.native_handle());
    co_await socket_.async_connect(endpoint, asio::redirect_error(asio::use_awaitable, error));
    if (is_closed_) error = asio::error::operation_aborted;
    if (!error || is_closed_) break;
  }
  if (error) {
    co_return NetworkError(error.message() +
                           "; check that the API server runs and can be reached from this node");
  }
  if (!config_.uses_tls) co_return Done();
  tls_.emplace(socket_, *credentials_->tls);
  if (!SetTlsHost(tls_->native_handle(), config_)) {
    co_return ApiFail(ApiErrorKind::kTls,
                      Format("OpenSSL does not accept {} as the name of a server", config_.host));
  }
  co_await tls_->async_handshake(asio::ssl::stream_base::client,
                                 asio::redirect_error(asio::use_awaitable, error));
  if (is_closed_) error = asio::error::operation_aborted;
  if (!error) co_return Done();
  if (!IsOfTls(error) && error != asio::ssl::error::stream_truncated) {
    co_return NetworkError(Format(
        "TLS handshake: {}; check that it is the HTTPS port of the API server", error.message()));
  }
  co_return ApiFail(ApiErrorKind::kTls, TlsFailureText(tls_->native_handle(), config_, error));
}

void ApiConnection::Send(std::string request, std::size_t max_body) {
  request_ = std::move(request);
  response_.emplace(ResponseLimits{.body = max_body});
  is_writing_ = true;
  const auto written = [self = shared_from_this()](const error_code&, std::size_t) {
    self->is_writing_ = false;
  };
  if (tls_) {
    asio::async_write(*tls_, asio::buffer(request_), written);
  } else {
    asio::async_write(socket_, asio::buffer(request_), written);
  }
}

asio::awaitable<ApiConnection::Done> ApiConnection::Read() {
  error_code error;
  std::size_t size = 0;
  if (tls_) {
    size = co_await tls_->async_read_some(asio::buffer(buffer_),
                                          asio::redirect_error(asio::use_awaitable, error));
  } else {
    size = co_await socket_.async_read_some(asio::buffer(buffer_),
                                            asio::redirect_error(asio::use_awaitable, error));
  }
  if (is_closed_) error = asio::error::operation_aborted;
  if (!error) {
    const Status fed = response_->Feed({buffer_.data(), size});
    if (!fed) co_return ApiFail(ApiErrorKind::kResponse, fed.error().message);
    co_return Done();
  }
  // Only a clean end completes a body without a length: otherwise others could cut it.
  if (error == asio::error::eof) {
    const Status finished = response_->Finish();
    if (!finished) co_return NetworkError(finished.error().message);
    co_return Done();
  }
  if (IsOfTls(error)) {
    co_return ApiFail(ApiErrorKind::kTls, TlsFailureText(tls_->native_handle(), config_, error));
  }
  const char* const when = response_->has_begun() ? "within" : "before";
  co_return NetworkError(Format("connection lost {} the response: {}", when, error.message()));
}

void ApiConnection::Close() {
  is_closed_ = true;
  error_code ignored;
  socket_.close(ignored);
}

bool ApiConnection::IsIdle() {
  if (is_closed_ || is_writing_ || !response_ || !response_->is_done()) return false;
  if (!response_->keeps_alive()) return false;
  SSL* const ssl = tls_ ? tls_->native_handle() : nullptr;
  if (ssl != nullptr && (SSL_has_pending(ssl) != 0 || BIO_ctrl_pending(SSL_get_rbio(ssl)) > 0)) {
    return false;
  }
  char byte;
  return recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

}  // namespace patchbay
