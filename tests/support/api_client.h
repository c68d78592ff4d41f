#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "os/unique_fd.h"

namespace patchbay::test {

/// A blocking client of an API server on 127.0.0.1, with one connection. Reads time out after ten
/// seconds; a failed read ends the connection.
class ApiClient {
 public:
  struct Reply {
    int status = 0;                                  ///< 0: there was no complete response
    std::map<std::string, std::string> header = {};  ///< names in lower case
    std::string body = {};

    /// Returns the body as JSON; a discarded value if it is not valid.
    nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
  };

  struct Tls {
    std::string ca;  ///< PEM
  };

  explicit ApiClient(std::uint16_t port, std::string token = "",
                     const std::optional<Tls>& tls = std::nullopt)
      : token_(std::move(token)), fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{.tv_sec = 10, .tv_usec = 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ =
        connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    if (is_connected_ && tls) is_connected_ = Handshake(*tls);
  }

  /// Returns whether the connection, and its handshake, succeeded.
  bool is_connected() const { return is_connected_; }

  Reply Send(const std::string& method, const std::string& target,
             const nlohmann::json& body = nullptr) {
    SendOnly(method, target, body);
    return Read();
  }
  Reply Get(const std::string& target) { return Send("GET", target); }
  void SendOnly(const std::string& method, const std::string& target,
                const nlohmann::json& body = nullptr) {
    const std::string text = body.is_null() ? "" : body.dump();
    std::string header = method + " " + target + " HTTP/1.1\r\nHost: test\r\n";
    if (!token_.empty()) header += "Authorization: Bearer " + token_ + "\r\n";
    if (!text.empty()) header += "Content-Type: application/json\r\n";
    SendBytes(header + "Content-Length: " + std::to_string(text.size()) + "\r\n\r\n" + text);
  }
  void SendBytes(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ssl_ ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                             : send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;  // the server has closed the connection
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  /// Reads a response with a Content-Length. Its body is incomplete if the connection ends.
  Reply Read() {
    Reply reply = ReadHeader();
    const std::size_t size = std::strtoul(reply.header["content-length"].c_str(), nullptr, 10);
    while (unread_.size() < size && Fill()) {
    }
    if (unread_.size() < size) reply.status = 0;
    reply.body = unread_.substr(0, size);
    unread_.erase(0, reply.body.size());
    return reply;
  }

  /// Starts a watch and reads its header.
  Reply Watch(const std::string& target) {
    SendOnly("GET", target);
    Reply reply = ReadHeader();
    if (reply.header.contains("content-length")) {
      const std::size_t size = std::strtoul(reply.header["content-length"].c_str(), nullptr, 10);
      while (unread_.size() < size && Fill()) {
      }
      reply.body = unread_.substr(0, size);
      unread_.erase(0, size);
    }
    return reply;
  }
  /// Returns the next line of a watch, without its newline; nothing at the end of the response or
  /// of the connection.
  std::optional<std::string> ReadLine() {
    for (;;) {
      if (const std::size_t end = line_.find('\n'); end != std::string::npos) {
        std::string line = line_.substr(0, end);
        line_.erase(0, end + 1);
        return line;
      }
      if (!ReadChunk()) return std::nullopt;
    }
  }
  /// Returns the next event of a watch as "ADDED name"; "" at the end.
  std::string ReadEvent() {
    const auto line = ReadLine();
    if (!line) return "";
    const auto event = nlohmann::json::parse(*line, nullptr, false);
    if (!event.is_object()) return "malformed";
    const auto& object = event["object"];
    if (event["type"] == "ERROR") return "ERROR " + std::to_string(object["code"].get<int>());
    const auto& metadata = object["metadata"];
    return event["type"].get<std::string>() + " " +
           metadata.value("name", metadata["resourceVersion"].get<std::string>());
  }

  /// Returns the bytes that arrive next, of any form; "" at the end.
  std::string ReadBytes() {
    if (unread_.empty()) Fill();
    return std::exchange(unread_, "");
  }

  /// Reads until the connection ends. Returns whether it ended before a timeout.
  bool AwaitClose() {
    while (Fill()) {
    }
    return has_ended_;
  }
  /// Returns whether the connection ended with a reset. Valid after AwaitClose or a failed read.
  bool was_reset() const { return was_reset_; }
  const std::string& unread() const { return unread_; }

 private:
  bool Handshake(const Tls& tls) {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    X509_STORE* const store = SSL_CTX_get_cert_store(context_.get());
    X509_STORE_add_cert(store, ReadCertificate(tls.ca).get());
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), fd_.get());
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), "127.0.0.1");
    return SSL_connect(ssl_.get()) == 1;
  }

  static std::unique_ptr<X509, decltype(&X509_free)> ReadCertificate(const std::string& pem) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new_mem_buf(pem.data(), -1), BIO_free);
    return {PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), X509_free};
  }

  Reply ReadHeader() {
    std::size_t end = std::string::npos;
    while ((end = unread_.find("\r\n\r\n")) == std::string::npos) {
      if (!Fill()) return {};
    }
    Reply reply;
    const std::string text = unread_.substr(0, end + 2);
    unread_.erase(0, end + 4);
    if (text.size() > 12) reply.status = std::atoi(text.substr(9, 3).c_str());
    for (std::size_t at = text.find("\r\n") + 2; at < text.size();) {
      const std::string line = text.substr(at, text.find("\r\n", at) - at);
      at += line.size() + 2;
      const std::size_t colon = line.find(": ");
      if (colon == std::string::npos) continue;
      std::string name = line.substr(0, colon);
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      reply.header[name] = line.substr(colon + 2);
    }
    return reply;
  }

  /// Appends the next chunk of a chunked body to the lines. Returns false at its end.
  bool ReadChunk() {
    std::size_t end = std::string::npos;
    while ((end = unread_.find("\r\n")) == std::string::npos) {
      if (!Fill()) return false;
    }
    const std::size_t size = std::strtoul(unread_.c_str(), nullptr, 16);
    while (unread_.size() < end + 2 + size + 2) {
      if (!Fill()) return false;
    }
    line_ += unread_.substr(end + 2, size);
    unread_.erase(0, end + 2 + size + 2);
    return size > 0;
  }

  bool Fill() {
    char buffer[16 * 1024];
    errno = 0;
    const auto got = ssl_ ? SSL_read(ssl_.get(), buffer, sizeof buffer)
                          : recv(fd_.get(), buffer, sizeof buffer, 0);
    if (got > 0) {
      unread_.append(buffer, static_cast<std::size_t>(got));
      return true;
    }
    was_reset_ = errno == ECONNRESET;
    has_ended_ = errno != EAGAIN && errno != EWOULDBLOCK;
    return false;
  }

  std::string token_;
  UniqueFd fd_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{nullptr, SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, SSL_free};
  bool is_connected_ = false;
  bool has_ended_ = false;
  bool was_reset_ = false;
  std::string unread_;
  std::string line_;  ///< of a watch
};

}  // namespace patchbay::test
