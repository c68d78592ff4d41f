#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "http/server.h"
#include "os/unique_fd.h"

namespace patchbay::test {

/// A parsed response. The status is 0 if there was none.
struct Response {
  int status = 0;
  std::map<std::string, std::string> header;  ///< names in lower case
  std::string body;
};

inline int PortOf(const HttpServer& server) {
  const std::string address = server.address();
  return std::stoi(address.substr(address.rfind(':') + 1));
}

/// A blocking HTTP client for 127.0.0.1 that sends exactly the given bytes. Reads time out after
/// ten seconds.
class Client {
 public:
  explicit Client(int port, int receive_buffer = 0) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience{.tv_sec = 10, .tv_usec = 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (receive_buffer > 0) {
      setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ =
        connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    EXPECT_TRUE(connected_);
  }

  /// Sends until an error occurs, because the server may have closed the connection.
  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  Response Get(std::string_view path, std::string_view method = "GET") {
    Send(std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n\r\n");
    return Read(method == "HEAD");
  }

  Response Read(bool without_body = false) {
    while (unread_.find("\r\n\r\n") == std::string::npos) {
      if (!Fill()) return {};
    }
    const std::size_t end = unread_.find("\r\n\r\n") + 4;
    Response response = ParseHeader(std::string_view(unread_).substr(0, end));
    unread_.erase(0, end);
    if (without_body) return response;
    const std::size_t size = std::strtoul(response.header["content-length"].c_str(), nullptr, 10);
    while (unread_.size() < size) {
      if (!Fill()) return {};
    }
    response.body = unread_.substr(0, size);
    unread_.erase(0, size);
    return response;
  }

  /// Returns whether the server closes the connection. Data received before that is in unread().
  bool AwaitClose() {
    while (Fill()) {
    }
    return closed_;
  }
  const std::string& unread() const { return unread_; }

 private:
  static Response ParseHeader(std::string_view text) {
    Response response;
    if (text.size() > 12) response.status = std::atoi(std::string(text.substr(9, 3)).c_str());
    for (std::size_t at = text.find("\r\n") + 2; at < text.size();) {
      const std::string_view line = text.substr(at, text.find("\r\n", at) - at);
      at += line.size() + 2;
      const std::size_t colon = line.find(": ");
      if (colon == std::string_view::npos) continue;
      std::string name(line.substr(0, colon));
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      response.header[name] = line.substr(colon + 2);
    }
    return response;
  }

  bool Fill() {
    char buffer[4096];
    const ssize_t got = recv(fd_.get(), buffer, sizeof buffer, 0);
    if (got > 0) {
      unread_.append(buffer, static_cast<std::size_t>(got));
      return true;
    }
    // Only a timeout is not caused by the server.
    closed_ = got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    return false;
  }

  UniqueFd fd_;
  bool connected_ = false;
  bool closed_ = false;
  std::string unread_;
};

}  // namespace patchbay::test
