#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "http/server.h"

namespace patchbay {

class Connection;

/// State shared by the connections of one server. Belongs to the HTTP thread.
struct ConnectionContext {
  HttpHandler handler;
  HttpLimits limits;
  Log& log;
  boost::asio::io_context& slow;  ///< whose thread makes slow responses
  std::list<Connection*> open{};  ///< by the time of the last request, or of the connection
  std::size_t waiting = 0;        ///< requests that wait for a slow response

  /// Closes the connections that have been receiving their response longest, but not `newest`,
  /// until the unsent bytes are within the limit.
  void LimitSending(const Connection& newest);
};

/// One client: reads the header of a request, sends the response, reads the next. The pending
/// operation keeps the connection alive; every operation has a deadline, except the making of a
/// slow response.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, ConnectionContext& context);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Start() { ReadHeader(); }
  /// Closes the connection now; no handler is called for it after that.
  void Close();
  /// Returns the size in bytes of the body being sent.
  std::size_t sending() const { return sending_; }

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::empty_body>;

  void AwaitRequest();
  void ReadHeader();
  void OnHeader(const boost::beast::error_code& error);
  void Answer(const HttpRequest& request, bool keep_alive);
  void AnswerLater(SlowHttpResponse make, std::string path, bool keep_alive);
  void Refuse(int status);
  void Send(HttpResponse response, bool keep_alive);
  void OnSent(bool keep_alive);
  void Drain(std::size_t budget);

  boost::beast::tcp_stream stream_;
  ConnectionContext& context_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::list<Connection*>::iterator place_;  ///< in context_.open; its end() once closed
  std::size_t sending_ = 0;
};

}  // namespace patchbay
