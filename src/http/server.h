#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "base/log.h"
#include "base/result.h"

namespace patchbay {

/// What a client asked for. Bytes as they were sent: nothing is percent-decoded.
struct HttpRequest {
  std::string method;              ///< "GET" or "HEAD"; others never reach a handler
  std::string path;                ///< begins with "/"; without the query
  std::string query;               ///< what stands behind "?"; may be empty
  std::string if_none_match = {};  ///< the tags that the client has already; mostly empty
  bool takes_gzip = false;         ///< the client understands a compressed response
  std::string host = {};           ///< of the Host header; empty where there is none
};

inline constexpr const char* kPlainText = "text/plain; charset=utf-8";

struct HttpResponse {
  int status = 200;
  std::string content_type = kPlainText;
  std::string body = {};  ///< left out, but measured, for HEAD
  std::string etag = {};  ///< with quotes; one that the client has already makes it a 304
  bool gzip = false;      ///< the body is compressed
  /// What follows `body`, where there is more. It is never copied, so one text can be under way to
  /// any number of clients.
  std::shared_ptr<const std::string> shared = {};
};

/// Makes a response that takes more than a moment. Called on the slow thread, one call at a time,
/// in the order of the requests.
using SlowHttpResponse = std::function<HttpResponse()>;
using HttpAnswer = std::variant<HttpResponse, SlowHttpResponse>;

/// Answers one request. Called on the HTTP thread, one call at a time; while it runs nobody else is
/// served, so what takes longer than a moment is returned as a SlowHttpResponse. An exception of
/// either becomes a 500.
using HttpHandler = std::function<HttpAnswer(const HttpRequest&)>;

/// What one client may cost.
struct HttpLimits {
  std::chrono::milliseconds request = std::chrono::seconds(5);    ///< to send a request's header
  std::chrono::milliseconds response = std::chrono::seconds(10);  ///< to take the response
  std::chrono::milliseconds idle = std::chrono::seconds(30);      ///< between two requests
  std::chrono::milliseconds linger = std::chrono::seconds(1);     ///< to close after the last one
  std::chrono::milliseconds first_request = std::chrono::seconds(1);  ///< one is new for this long
  std::size_t header_bytes = 8 * 1024;  ///< of the lines that follow the first
  std::size_t target_bytes = 2 * 1024;
  std::size_t response_bytes = 8 << 20;  ///< of all responses not yet taken, but for the
                                         ///< largest; beyond it whoever takes longest is closed
  std::size_t connections = 64;          ///< one more closes the one that is idle longest, else
                                         ///< one whose client reads nothing, a new one last
  std::size_t waiting = 32;              ///< for slow responses; one more is answered with 503
};

/// A small HTTP/1.1 server for probes, scrapes and people: GET and HEAD, keep-alive, no bodies in
/// requests.
///
/// Owns one thread, which does everything without blocking: connections that are idle or slow cost
/// memory, never time. What takes time is made on a second one, the slow thread, so that whoever
/// asks for it delays nobody who asks for something else. Nothing a client sends ends a thread;
/// what is malformed is answered with 4xx and the connection closed.
///
/// The destructor closes all connections at once and waits only for a handler or a slow response
/// under way. What these use must outlive the server, and so must the log.
class HttpServer {
 public:
  /// Listens on "address:port": "127.0.0.1:9478", "[::1]:9478". "[::]:9478" and ":9478" take IPv4
  /// as well, and IPv4 alone where the host has no IPv6. Port 0 means any free one. Fails with
  /// kInvalid for anything that is not an address, kUnavailable where the system refuses.
  static Result<std::unique_ptr<HttpServer>> Create(const std::string& listen, HttpHandler handler,
                                                    Log& log, HttpLimits limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// What it is bound to, as "127.0.0.1:9478" or "[::]:9478"; from any thread.
  std::string address() const;
  int port() const;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
