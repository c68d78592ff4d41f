#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "http/server.h"

namespace patchbay {

class Connection;

/// What the connections of one server share. All of it belongs to the HTTP thread.
struct ConnectionContext {
  HttpHandler handler;
  HttpLimits limits;
  Log& log;
  std::function<void(std::function<void()>)> run_slow;  ///< runs it later, on the slow thread
  std::list<Connection*> open{};  ///< the one whose last request is longest ago first
  std::size_t waiting = 0;        ///< requests whose slow response is not made yet

  /// The connection that can be closed with the least harm; null when there is none. A new one is
  /// the last choice: it may be a probe of the kubelet.
  Connection* LongestIdle() const;
  /// Closes those that take longest over their response, but not `newest`, until what remains to be
  /// taken is within the limit.
  void LimitSending(const Connection& newest);
};

/// One client: reads a request's header, answers, reads the next. Keeps itself alive through the
/// operation under way; every one of these has a deadline, so that no connection stays for ever.
/// Only a slow response may take as long as it takes.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, ConnectionContext& context);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Start() { ReadHeader(); }
  /// Ends the connection now; no handler is called for it any more.
  void Close();
  /// Whether a response is being made or sent.
  bool busy() const { return busy_; }
  /// Whether the client has not had time for its first request.
  bool is_new(std::chrono::steady_clock::time_point now) const {
    return !has_sent_request_ && now - accepted_ < context_.limits.first_request;
  }
  /// The bytes that the response being sent keeps in memory alone, and the text that others may be
  /// sent as well; null where there is none.
  std::size_t sending() const { return sending_; }
  const std::string* sending_shared() const { return shared_.get(); }

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
  std::list<Connection*>::iterator place_;  ///< in context_.open; its end once closed
  const std::chrono::steady_clock::time_point accepted_ = std::chrono::steady_clock::now();
  bool has_sent_request_ = false;
  bool busy_ = false;
  std::size_t sending_ = 0;
  std::shared_ptr<const std::string> shared_;
};

}  // namespace patchbay
