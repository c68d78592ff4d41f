#pragma once

#include <openssl/ssl.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/certificates.h"

namespace patchbay::test {

/// The end of a connection.
enum class Then {
  kKeepOpen,
  kClose,     ///< orderly, with the notification of TLS
  kTruncate,  ///< without it
  kReset,
};

/// The bytes that the server sends after a request, which need not be a valid response.
struct Reply {
  std::string bytes;
  Then then = Then::kKeepOpen;
};

using ServerRequest = boost::beast::http::request<boost::beast::http::string_body>;

/// A valid response. `header` has further lines, each with its line end.
inline Reply JsonReply(int status, const std::string& body, const std::string& header = "") {
  return {"HTTP/1.1 " + std::to_string(status) + " Text\r\n" + header +
          "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body};
}

/// A chunk of a chunked body, of one to 255 bytes or more.
inline std::string Chunk(const std::string& text) {
  char size[32];
  std::snprintf(size, sizeof size, "%zx", text.size());
  return std::string(size) + "\r\n" + text + "\r\n";
}
inline const std::string kChunkedHeader = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// An HTTP server on a loopback address, with TLS unless it has no certificate. It runs in the
/// io_context of the test, on the thread of the test, so it shares nothing between threads. It
/// sends any bytes, and more of them when the test says so.
class TlsServer {
 public:
  using Handler = std::function<Reply(const ServerRequest&)>;

  /// Port 0 means any free port. If `client_ca` is set, clients need a certificate of it.
  TlsServer(boost::asio::io_context& io, std::optional<Certificate> certificate, Handler handler,
            unsigned short port = 0, const std::string& client_ca = "",
            const boost::asio::ip::address& address = boost::asio::ip::address_v4::loopback())
      : handler_(std::move(handler)), acceptor_(io, {address, port}) {
    if (certificate) UseCertificate(*certificate, client_ca);
    Accept();
  }
  ~TlsServer() {
    acceptor_.close();
    for (const auto& session : sessions_) session->End(Then::kReset);
  }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  unsigned short port() const { return acceptor_.local_endpoint().port(); }
  void SetHandler(Handler handler) { handler_ = std::move(handler); }
  /// New connections get this certificate.
  void UseCertificate(const Certificate& certificate, const std::string& client_ca = "") {
    namespace ssl = boost::asio::ssl;
    tls_ = std::make_shared<ssl::context>(ssl::context::tls_server);
    tls_->use_certificate_chain(boost::asio::buffer(certificate.pem));
    tls_->use_private_key(boost::asio::buffer(certificate.key), ssl::context::pem);
    if (client_ca.empty()) return;
    tls_->add_certificate_authority(boost::asio::buffer(client_ca));
    tls_->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  }
  /// Limits the version of TLS for new connections.
  void SetMaxTlsVersion(int version) {
    SSL_CTX_set_security_level(tls_->native_handle(), 0);
    SSL_CTX_set_max_proto_version(tls_->native_handle(), version);
  }

  const std::vector<ServerRequest>& requests() const { return requests_; }
  /// The number of connections that were accepted.
  std::size_t connections() const { return sessions_.size(); }
  /// The name that the newest client sent in its handshake; "" if it sent none.
  std::string server_name() const { return sessions_.back()->ServerName(); }
  /// Sends more bytes on the newest connection.
  void Write(const std::string& bytes, Then then = Then::kKeepOpen) {
    sessions_.back()->Write({bytes, then});
  }
  /// Returns a function that sends more bytes on the connection of the request that is being
  /// handled. For the handler.
  std::function<void(const std::string&)> MoreOnThisConnection() const {
    return [session = handled_](const std::string& bytes) {
      if (const auto open = session.lock()) open->Write({bytes});
    };
  }
  /// Ends all connections.
  void EndAll(Then then) {
    for (const auto& session : sessions_) session->End(then);
  }

 private:
  using Socket = boost::asio::ip::tcp::socket;
  using Error = boost::system::error_code;

  class Session : public std::enable_shared_from_this<Session> {
   public:
    Session(TlsServer& server, Socket socket)
        : server_(server), context_(server.tls_), socket_(std::move(socket)) {
      if (context_) tls_.emplace(socket_, *context_);
    }

    void Start() {
      if (!tls_) return Read();
      tls_->async_handshake(boost::asio::ssl::stream_base::server,
                            [self = shared_from_this()](const Error& error) {
                              if (error) return self->End(Then::kTruncate);
                              self->Read();
                            });
    }

    /// Sends bytes after those of earlier calls.
    void Write(Reply reply) {
      unsent_.push_back(std::move(reply));
      if (unsent_.size() == 1) WriteNext();
    }

    void End(Then then) {
      if (then == Then::kKeepOpen || ended_) return;
      ended_ = true;
      if (then == Then::kReset) socket_.set_option(boost::asio::socket_base::linger(true, 0));
      if (then == Then::kClose && tls_) {
        return tls_->async_shutdown(
            [self = shared_from_this()](const Error&) { self->socket_.close(); });
      }
      socket_.close();
    }

    std::string ServerName() {
      const char* name = SSL_get_servername(tls_->native_handle(), TLSEXT_NAMETYPE_host_name);
      return name == nullptr ? "" : name;
    }

   private:
    void WriteNext() {
      OnStream([&](auto& stream) {
        boost::asio::async_write(stream, boost::asio::buffer(unsent_.front().bytes),
                                 [self = shared_from_this()](const Error& error, std::size_t) {
                                   if (error || self->ended_) return;
                                   const Then then = self->unsent_.front().then;
                                   self->unsent_.pop_front();
                                   self->End(then);
                                   if (!self->ended_ && !self->unsent_.empty()) self->WriteNext();
                                 });
      });
    }

    template <class F>
    void OnStream(F f) {
      if (tls_) {
        f(*tls_);
      } else {
        f(socket_);
      }
    }

    void Read() {
      parser_.emplace();
      parser_->body_limit(std::uint64_t{64} << 20);
      OnStream([&](auto& stream) {
        boost::beast::http::async_read(
            stream, buffer_, *parser_,
            [self = shared_from_this()](const Error& error, std::size_t) {
              if (self->ended_) return;
              // As other servers do, and without an end that could overtake the response.
              if (error == boost::beast::http::error::bad_method && !self->tls_) {
                return self->Write({"HTTP/1.1 400 Bad Request\r\n\r\n"});
              }
              if (error) return self->End(Then::kTruncate);
              self->server_.requests_.push_back(self->parser_->get());
              self->server_.handled_ = self;
              self->Write(self->server_.handler_(self->parser_->get()));
              self->Read();
            });
      });
    }

    TlsServer& server_;
    std::shared_ptr<boost::asio::ssl::context> context_;
    Socket socket_;
    std::optional<boost::asio::ssl::stream<Socket&>> tls_;
    boost::beast::flat_buffer buffer_;
    std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
    std::deque<Reply> unsent_;  ///< the first one is being sent
    bool ended_ = false;
  };

  void Accept() {
    acceptor_.async_accept([this](const Error& error, Socket socket) {
      if (error) return;  // the server was destroyed
      sessions_.push_back(std::make_shared<Session>(*this, std::move(socket)));
      sessions_.back()->Start();
      Accept();
    });
  }

  Handler handler_;
  std::shared_ptr<boost::asio::ssl::context> tls_;
  std::vector<ServerRequest> requests_;
  std::vector<std::shared_ptr<Session>> sessions_;
  std::weak_ptr<Session> handled_;  ///< its request is the last one
  boost::asio::ip::tcp::acceptor acceptor_;
};

}  // namespace patchbay::test
