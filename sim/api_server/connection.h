#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "sim/api_server/server_state.h"
#include "sim/api_server/stream.h"

namespace patchbay::api_sim {

class Connection;

/// The state that the connections of one server share. Belongs to the thread of the server.
struct ConnectionContext {
  ServerState& state;
  std::chrono::milliseconds bookmark_interval;
  std::chrono::milliseconds latency;  ///< of responses
  bool are_watches_paused = false;
  std::set<Connection*> open = {};
};

/// A client: reads a request, sends the response or the events of a watch, and reads the next one.
/// The pending operations own it. All methods run on the thread of the server.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Stream::Socket socket, TlsContext tls, ConnectionContext& context);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Start();
  /// Closes the connection at once; with `resets`, the client receives a reset.
  void Close(bool resets = false);
  bool IsWatch() const { return watch_.has_value(); }
  /// Sends the events that are new. Does nothing if there is no watch, or while it is writing.
  void SendEvents();
  /// Ends the response of a watch.
  void EndWatch();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Next = std::function<void()>;

  void ReadRequest();
  void OnRequest(const boost::beast::error_code& error);
  void Respond(const HttpResponse& response, bool keep_alive, const std::optional<Fault>& fault);
  void StartWatch(const WatchCursor& watch, const std::optional<Fault>& fault);
  void ScheduleBookmark();
  void SendBookmark();
  /// Writes a chunk of the response of a watch, then new events.
  void SendChunk(const std::string& text);
  void SendSpaces();
  /// Reads during a watch, to notice that the client closes the connection. What the client sends
  /// is the beginning of its next request.
  void AwaitClient();
  /// Reads until the client closes the connection.
  void DiscardInput();
  /// Writes all bytes, then calls `next`.
  void Write(std::string bytes, Next next);
  /// Calls `then` after the time, unless the connection is closed.
  void After(std::chrono::milliseconds time, Next then);
  void WriteMore();

  Stream stream_;
  ConnectionContext& context_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  bool is_open_ = true;
  bool is_reading_ = false;  ///< AwaitClient is pending

  std::string outgoing_;
  std::size_t sent_ = 0;
  Next next_;                             ///< set while writing
  bool is_slow_ = false;                  ///< sends byte by byte
  boost::asio::steady_timer pace_timer_;  ///< of bytes and of the latency

  std::optional<WatchCursor> watch_;
  bool is_ending_ = false;       ///< EndWatch was called
  bool wants_bookmark_ = false;  ///< to be sent after the pending write
  bool cuts_next_event_ = false;
  boost::asio::steady_timer watch_timer_;
  boost::asio::steady_timer bookmark_timer_;
};

}  // namespace patchbay::api_sim
