// A connection is a chain of asynchronous operations: read a request, write the response, read the
// next. At most one write is pending, and its continuation is `next_`. While a watch is open, each
// write is followed by the events that came meanwhile; a client that does not read therefore falls
// behind, and its version expires. AwaitClient reads in the meantime, to see the end of the
// connection. Responses are written as text, because faults send what is not a valid response.

#include "sim/api_server/connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <utility>

#include "base/format.h"

namespace patchbay::api_sim {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::beast::error_code;

constexpr std::uint32_t kMaxHeaderBytes = 64 * 1024;
constexpr std::size_t kMaxBodyBytes = std::size_t{3} << 20;  // as in the real server
constexpr std::chrono::milliseconds kPace{1};                // of each byte of a slow body
/// The real server chooses 30 to 60 minutes.
constexpr std::chrono::seconds kDefaultWatchTimeout{1800};

std::string ToString(boost::beast::string_view text) { return {text.data(), text.size()}; }

std::string HeaderOf(const HttpResponse& response, bool keep_alive) {
  const auto status = http::int_to_status(static_cast<unsigned>(response.status));
  std::string header =
      Format("HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
             response.status, ToString(http::obsolete_reason(status)), response.body.size());
  if (response.retry_after) header += Format("Retry-After: {}\r\n", response.retry_after->count());
  header += keep_alive ? "\r\n" : "Connection: close\r\n\r\n";
  return header;
}

constexpr std::string_view kChunkedHeader =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string ChunkOf(const std::string& text) { return Format("{:x}\r\n{}\r\n", text.size(), text); }

std::string Half(const std::string& text) { return text.substr(0, text.size() / 2); }

}  // namespace

Connection::Connection(Stream::Socket socket, TlsContext tls, ConnectionContext& context)
    : stream_(std::move(socket), std::move(tls)),
      context_(context),
      buffer_(kMaxHeaderBytes + kMaxBodyBytes),
      pace_timer_(stream_.get_executor()),
      watch_timer_(stream_.get_executor()),
      bookmark_timer_(stream_.get_executor()) {
  context_.open.insert(this);
}

Connection::~Connection() { context_.open.erase(this); }

void Connection::Start() {
  if (!stream_.has_tls()) return ReadRequest();
  stream_.async_handshake([self = shared_from_this()](const error_code& error) {
    if (error) return self->Close();
    self->ReadRequest();
  });
}

void Connection::Close(bool resets) {
  if (!std::exchange(is_open_, false)) return;
  context_.open.erase(this);
  watch_.reset();
  pace_timer_.cancel();
  watch_timer_.cancel();
  bookmark_timer_.cancel();
  error_code ignored;
  if (resets) stream_.socket().set_option(asio::socket_base::linger(true, 0), ignored);
  stream_.socket().close(ignored);
  context_.state.NotifyChange();
}

void Connection::ReadRequest() {
  parser_.emplace();
  parser_->header_limit(kMaxHeaderBytes);
  parser_->body_limit(kMaxBodyBytes);
  http::async_read(stream_, buffer_, *parser_,
                   [self = shared_from_this()](const error_code& error, std::size_t) {
                     if (self->is_open_) self->OnRequest(error);
                   });
}

void Connection::OnRequest(const error_code& error) {
  if (error) return Close();
  auto message = parser_->release();
  const bool keep_alive = message.keep_alive();
  const Outcome outcome =
      context_.state.Serve({.method = ToString(message.method_string()),
                            .target = ToString(message.target()),
                            .body = std::move(message.body()),
                            .content_type = ToString(message[http::field::content_type])},
                           ToString(message[http::field::authorization]));
  const std::optional<Fault>& fault = outcome.fault;
  const auto is = [&](FaultType type) { return fault && fault->type == type; };
  is_slow_ = is(FaultType::kSlowBody);
  if (is(FaultType::kReset) || is(FaultType::kLoseResponse)) return Close(/*resets=*/true);
  if (is(FaultType::kEndlessBody)) {
    return Write(std::string(kChunkedHeader), [this] { SendSpaces(); });
  }
  if (outcome.watch) return StartWatch(*outcome.watch, fault);
  Respond(outcome.response, keep_alive, fault);
}

void Connection::Respond(const HttpResponse& response, bool keep_alive,
                         const std::optional<Fault>& fault) {
  HttpResponse damaged = response;
  if (fault && fault->type == FaultType::kMalformedJson) damaged.body = Half(response.body);
  std::string bytes = HeaderOf(damaged, keep_alive);
  const bool is_cut = fault && fault->type == FaultType::kCutBody;
  bytes += is_cut ? Half(damaged.body) : damaged.body;
  const Next next = [this, closes = is_cut || !keep_alive] {
    if (!closes) return ReadRequest();
    // Closing with unread bytes would reset the connection, and the client may lose the response.
    error_code ignored;
    stream_.socket().shutdown(asio::socket_base::shutdown_send, ignored);
    DiscardInput();
  };
  After(context_.latency, [this, bytes = std::move(bytes), next] { Write(bytes, next); });
}

void Connection::StartWatch(const WatchCursor& watch, const std::optional<Fault>& fault) {
  watch_ = watch;
  is_ending_ = wants_bookmark_ = false;
  cuts_next_event_ = fault && fault->type == FaultType::kMalformedJson;
  const bool is_cut = fault && fault->type == FaultType::kCutBody;
  AwaitClient();
  if (is_cut) {
    // The connection ends within a chunk.
    return Write(std::string(kChunkedHeader) + "100\r\n{\"type\":\"ADDED\"", [this] { Close(); });
  }
  watch_timer_.expires_after(watch.request.timeout.value_or(kDefaultWatchTimeout));
  watch_timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (error || !self->watch_) return;
    self->SendBookmark();
    self->EndWatch();
  });
  ScheduleBookmark();
  context_.state.NotifyChange();
  Write(std::string(kChunkedHeader), [this] { SendEvents(); });
}

void Connection::ScheduleBookmark() {
  if (!watch_->request.allows_bookmarks) return;
  bookmark_timer_.expires_after(context_.bookmark_interval);
  bookmark_timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (error || !self->watch_) return;
    self->SendBookmark();
    self->ScheduleBookmark();
  });
}

void Connection::SendBookmark() {
  if (!watch_ || !watch_->request.allows_bookmarks) return;
  wants_bookmark_ = true;
  SendEvents();
}

void Connection::EndWatch() {
  if (!watch_) return;
  is_ending_ = true;
  SendEvents();
}

void Connection::SendEvents() {
  if (!watch_ || next_) return;
  if (!context_.are_watches_paused) {
    const std::vector<std::string> lines = context_.state.Read(*watch_);
    if (watch_->has_ended) is_ending_ = true;
    std::string text;
    for (const std::string& line : lines) text += line;
    if (!text.empty()) {
      if (std::exchange(cuts_next_event_, false)) text = Half(lines.front()) + "\n";
      return SendChunk(text);
    }
    if (std::exchange(wants_bookmark_, false)) return SendChunk(Api::Bookmark(*watch_));
  }
  if (!is_ending_) return;
  watch_.reset();
  watch_timer_.cancel();
  bookmark_timer_.cancel();
  context_.state.NotifyChange();
  Write("0\r\n\r\n", [this] {
    if (!is_reading_) ReadRequest();
  });
}

void Connection::SendChunk(const std::string& text) {
  Write(ChunkOf(text), [this] { SendEvents(); });
}

void Connection::SendSpaces() {
  Write(ChunkOf(std::string(64 * 1024, ' ')), [this] { SendSpaces(); });
}

void Connection::AwaitClient() {
  if (is_reading_) return;
  is_reading_ = true;
  stream_.async_read_some(buffer_.prepare(4096),
                          [self = shared_from_this()](const error_code& error, std::size_t size) {
                            self->is_reading_ = false;
                            if (error || !self->is_open_) return self->Close();
                            self->buffer_.commit(size);
                            // The next request came before the end of the watch, or just after it.
                            if (!self->watch_ && !self->next_) self->ReadRequest();
                          });
}

void Connection::DiscardInput() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(4096),
                          [self = shared_from_this()](const error_code& error, std::size_t) {
                            if (error || !self->is_open_) return self->Close();
                            self->DiscardInput();
                          });
}

void Connection::Write(std::string bytes, Next next) {
  outgoing_ = std::move(bytes);
  sent_ = 0;
  next_ = std::move(next);
  WriteMore();
}

void Connection::WriteMore() {
  const std::size_t size = is_slow_ ? 1 : outgoing_.size() - sent_;
  asio::async_write(stream_, asio::buffer(outgoing_.data() + sent_, size),
                    [self = shared_from_this()](const error_code& error, std::size_t written) {
                      if (error || !self->is_open_) return self->Close();
                      self->sent_ += written;
                      if (self->sent_ == self->outgoing_.size()) {
                        return std::exchange(self->next_, nullptr)();
                      }
                      self->After(kPace, [self] { self->WriteMore(); });
                    });
}

void Connection::After(std::chrono::milliseconds time, Next then) {
  if (time == time.zero()) return then();
  pace_timer_.expires_after(time);
  pace_timer_.async_wait(
      [self = shared_from_this(), then = std::move(then)](const error_code& canceled) {
        if (!canceled && self->is_open_) then();
      });
}

}  // namespace patchbay::api_sim
