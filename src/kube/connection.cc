// A chain of asynchronous operations opens the connection; then one read is always pending, and its
// bytes belong to the current exchange. Without an exchange any byte, and the end of the
// connection, closes it: nothing was requested. A failed write is not reported: the server may have
// sent its response before it stopped reading, and otherwise the read fails as well.
//
// The functions of an exchange may destroy its owner, which closes the connection. Therefore every
// call is the last statement of its function, or is followed by a check of `exchange_`.

#include "kube/connection.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "kube/tls_context.h"

namespace patchbay {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

/// A server that does not respond to the kernel's probes for half a minute is lost. Without them, a
/// watch of a lost server would stay silent until its deadline. An address that does not respond is
/// given up after about seven seconds, in time for the next one.
void SetSocketOptions(int fd) {
  // Asio opens sockets without it, and programs must not inherit them.
  fcntl(fd, F_SETFD, FD_CLOEXEC);
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

bool IsOfTls(const boost::system::error_code& error) {
  return error.category() == asio::error::get_ssl_category();
}

}  // namespace

ApiConnection::ApiConnection(asio::io_context& io, const ClusterConfig& config,
                             CredentialCache::Shared credentials)
    : socket_(io), config_(config), credentials_(std::move(credentials)) {}

ApiError ApiConnection::NetworkError(std::string_view problem) const {
  return {.kind = ApiErrorKind::kNetwork,
          .message = Format("{}: {}", UrlOf(config_), Printable(problem))};
}

void ApiConnection::Open(std::vector<tcp::endpoint> endpoints, Opened done) {
  endpoints_ = std::move(endpoints);
  opened_ = std::move(done);
  Connect(0, asio::error::host_not_found);
}

void ApiConnection::Connect(std::size_t index, Error last) {
  if (!opened_) return;  // closed
  if (index == endpoints_.size()) {
    auto error = NetworkError(last.message());
    error.message += "; check that the API server runs and can be reached from this node";
    return OnOpened(std::move(error));
  }
  Error error;
  socket_.close(error);
  socket_.open(endpoints_[index].protocol(), error);
  if (error) {
    // Posted, because the caller of Open is not prepared for a call back.
    return asio::post(socket_.get_executor(), [self = shared_from_this(), index, error] {
      self->Connect(index + 1, error);
    });
  }
  SetSocketOptions(socket_.native_handle());
  socket_.async_connect(endpoints_[index],
                        [self = shared_from_this(), index](const Error& connected) {
                          if (!self->opened_) return;
                          if (connected) return self->Connect(index + 1, connected);
                          self->Handshake();
                        });
}

void ApiConnection::Handshake() {
  if (!config_.uses_tls) return OnOpened(std::nullopt);
  tls_.emplace(socket_, *credentials_->tls);
  if (!SetTlsHost(tls_->native_handle(), config_)) {
    return OnOpened(ApiError{
        .kind = ApiErrorKind::kTls,
        .message = Format("OpenSSL does not accept {} as the name of a server", config_.host)});
  }
  tls_->async_handshake(
      asio::ssl::stream_base::client, [self = shared_from_this()](const Error& error) {
        if (!self->opened_) return;
        if (!error) return self->OnOpened(std::nullopt);
        if (!IsOfTls(error) && error != asio::ssl::error::stream_truncated) {
          return self->OnOpened(self->NetworkError(Format("TLS handshake: {}", error.message())));
        }
        self->OnOpened(
            ApiError{.kind = ApiErrorKind::kTls,
                     .message = TlsFailureText(self->tls_->native_handle(), self->config_, error)});
      });
}

void ApiConnection::OnOpened(std::optional<ApiError> error) {
  const Opened done = std::exchange(opened_, nullptr);
  if (error) {
    Close();
  } else {
    is_open_ = true;
    Read();
  }
  done(std::move(error));
}

void ApiConnection::Send(Exchange exchange) {
  exchange_ = std::move(exchange);
  reader_.emplace(exchange_->limits);
  has_reported_header_ = false;
  is_writing_ = true;
  const auto text = std::make_shared<const std::string>(std::move(exchange_->request));
  const auto written = [self = shared_from_this(), text](const Error&, std::size_t) {
    self->is_writing_ = false;
  };
  if (tls_) {
    asio::async_write(*tls_, asio::buffer(*text), written);
  } else {
    asio::async_write(socket_, asio::buffer(*text), written);
  }
}

void ApiConnection::Close() {
  is_open_ = false;
  opened_ = nullptr;
  const auto dropped = std::exchange(exchange_, std::nullopt);
  Error ignored;
  socket_.close(ignored);
}

void ApiConnection::Read() {
  const auto read = [self = shared_from_this()](const Error& error, std::size_t size) {
    if (self->is_open_) self->OnRead(error, size);
  };
  if (tls_) {
    tls_->async_read_some(asio::buffer(buffer_), read);
  } else {
    socket_.async_read_some(asio::buffer(buffer_), read);
  }
}

void ApiConnection::OnRead(const Error& error, std::size_t size) {
  if (!exchange_) return Close();
  if (error) return OnEof(error);
  if (const Status fed = reader_->Feed({buffer_.data(), size}); !fed) {
    return End(ApiFail(ApiErrorKind::kResponse, fed.error().message));
  }
  Read();
  OnProgress();
}

void ApiConnection::OnProgress() {
  const auto self = shared_from_this();
  if (exchange_->on_part && reader_->has_header() && reader_->is_success()) {
    const auto on_part = exchange_->on_part;  // a copy: it may end the exchange
    if (!std::exchange(has_reported_header_, true)) on_part("");
    if (!exchange_) return;
    if (std::string part = reader_->TakeBody(); !part.empty()) on_part(std::move(part));
    if (!exchange_) return;
  }
  if (!reader_->is_done()) return;
  End(ExchangeEnd::Response{reader_->status(), reader_->retry_after(), reader_->TakeBody()});
}

void ApiConnection::OnEof(const Error& error) {
  // Only a clean end completes a body without a length: otherwise others could cut it.
  if (error == asio::error::eof) {
    if (const Status finished = reader_->Finish(); !finished) {
      return End(tl::unexpected(NetworkError(finished.error().message)));
    }
    return OnProgress();
  }
  if (IsOfTls(error)) {
    return End(ApiFail(ApiErrorKind::kTls, TlsFailureText(tls_->native_handle(), config_, error)));
  }
  End(tl::unexpected(
      NetworkError(Format("connection lost {} the response: {}",
                          reader_->has_begun() ? "within" : "before", error.message()))));
}

void ApiConnection::End(tl::expected<ExchangeEnd::Response, ApiError> response) {
  const auto ended = std::exchange(exchange_, std::nullopt);
  const bool is_usable = response && reader_->is_done() && reader_->keeps_alive() && !is_writing_;
  if (!is_usable) Close();
  ended->on_end({std::move(response), reader_->has_begun()});
}

}  // namespace patchbay
