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

/// A GET or HEAD request, as it was sent: nothing is percent-decoded.
struct HttpRequest {
  std::string path;                ///< begins with "/"; without the query
  std::string if_none_match = {};  ///< the tags that the client has; usually empty
  bool takes_gzip = false;         ///< the client accepts gzip
  std::string host = {};           ///< of the Host header; empty if there is none
};

inline constexpr const char* kPlainText = "text/plain; charset=utf-8";

struct HttpResponse {
  int status = 200;
  std::string content_type = kPlainText;
  std::string body = {};  ///< not sent for HEAD, but counted
  std::string etag = {};  ///< with quotes; 304 is sent if the client has it
  bool gzip = false;      ///< the body is compressed
};

/// Makes a response that takes time. Called on the slow thread, one call at a time, in the order of
/// the requests.
using SlowHttpResponse = std::function<HttpResponse()>;
using HttpAnswer = std::variant<HttpResponse, SlowHttpResponse>;

/// Handles one request. Called on the HTTP thread, one call at a time; no other request is served
/// meanwhile, so work that takes time is returned as a SlowHttpResponse. An exception of either
/// becomes a 500.
using HttpHandler = std::function<HttpAnswer(const HttpRequest&)>;

/// Limits for clients.
struct HttpLimits {
  std::chrono::milliseconds request = std::chrono::seconds(5);  ///< to send the header of a request
  std::chrono::milliseconds response = std::chrono::seconds(10);  ///< to receive the response
  std::chrono::milliseconds idle = std::chrono::seconds(30);      ///< between two requests
  std::chrono::milliseconds linger = std::chrono::seconds(1);     ///< to close after the last one
  std::size_t header_bytes = 8 * 1024;                            ///< of the lines after the first
  std::size_t target_bytes = 2 * 1024;
  std::size_t response_bytes = 8 << 20;  ///< of all unsent responses except the
                                         ///< largest; beyond it the slowest client is closed
  std::size_t connections = 64;          ///< one more closes the one without a request longest
  std::size_t waiting = 32;              ///< requests for slow responses; one more gets 503
};

/// A small HTTP/1.1 server for probes, scrapes and the page: GET and HEAD, keep-alive, no request
/// bodies.
///
/// One thread serves all connections without blocking, so idle or slow clients cost memory, not
/// time. Slow responses are made on a second thread, the slow thread, and delay no other request.
/// Malformed requests get 4xx and the connection is closed.
///
/// The destructor closes all connections and waits only for a running handler or slow response.
/// Their data and the log must outlive the server.
class HttpServer {
 public:
  /// Listens on "address:port": "127.0.0.1:9478", "[::1]:9478". "[::]:9478" and ":9478" include
  /// IPv4, and mean IPv4 only if the host has no IPv6. Port 0 means any free port. Fails with
  /// kInvalid for an invalid address, kUnavailable if the system refuses.
  static Result<std::unique_ptr<HttpServer>> Create(const std::string& listen, HttpHandler handler,
                                                    Log& log, HttpLimits limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Returns the bound address, such as "127.0.0.1:9478" or "[::]:9478". Any thread.
  std::string address() const;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
