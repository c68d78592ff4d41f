// A connection is a chain of asynchronous operations: read a header, answer, write, read the next.
// Each has a deadline, except the making of a slow response, which runs on another thread. Bodies
// are not read, so a request that has one is the last of its connection. A rejected client gets its
// response before the connection is cut.

#include "http/connection.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/message_generator.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "http/gzip.h"

namespace patchbay {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using beast::error_code;

/// The page consists of its own files: nothing else may run, load, be framed or receive data.
constexpr const char* kContentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'";

/// The maximum number of bytes read from a rejected client before the connection is cut.
constexpr std::size_t kDrainBytes = 64 * 1024;

std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

/// Returns the status for a header that could not be read; 0 if the client is gone.
int StatusFor(const error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  if (error == http::error::body_limit) return 413;
  if (error == http::error::end_of_stream || error == http::error::partial_message) return 0;
  return error.category() == http::make_error_code(http::error::bad_method).category() ? 400 : 0;
}

/// Returns the path of a target in origin form, or in the absolute form that proxies send; "" if it
/// has none.
std::string_view PathIn(std::string_view target) {
  constexpr std::string_view kScheme = "http://";
  if (target.starts_with(kScheme)) {
    const std::size_t slash = target.find('/', kScheme.size());
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  return target.starts_with('/') ? target.substr(0, target.find('?')) : "";
}

template <class Body>
void SetHeader(http::response<Body>& message, const HttpResponse& response, bool keep_alive) {
  message.set(http::field::content_type, response.content_type);
  message.set(http::field::cache_control, response.etag.empty() ? "no-store" : "no-cache");
  if (!response.etag.empty()) message.set(http::field::etag, response.etag);
  if (response.gzip) message.set(http::field::content_encoding, "gzip");
  message.set("Content-Security-Policy", kContentSecurityPolicy);
  message.set("Cross-Origin-Resource-Policy", "same-origin");
  message.set("Referrer-Policy", "no-referrer");
  message.set("X-Content-Type-Options", "nosniff");
  if (response.status == 405) message.set(http::field::allow, "GET, HEAD");
  if (response.status == 503) message.set(http::field::retry_after, "1");
  if (response.status != 304) {
    message.content_length(response.body.size());
  }
  message.keep_alive(keep_alive);
}

/// Calls `make`; an exception becomes a 500. Any thread.
template <class Make>
auto Guarded(const Make& make, std::string_view path, Log& log) -> decltype(make()) {
  std::string problem;
  try {
    return make();
  } catch (const std::exception& exception) {
    problem = exception.what();
  } catch (...) {
    problem = "unknown exception";
  }
  log.Error("http handler failed", {{"request", path}, {"reason", problem}});
  return HttpResponse{500, kPlainText, "internal error\n"};
}

}  // namespace

void ConnectionContext::LimitSending(const Connection& newest) {
  std::size_t total = 0, largest = 0;
  for (const Connection* connection : open) {
    total += connection->sending();
    largest = std::max(largest, connection->sending());
  }
  // Without the largest: a single response beyond the limit must not be cut by the next probe.
  for (auto next = open.begin(); next != open.end() && total > largest + limits.response_bytes;) {
    Connection& connection = **next++;
    if (&connection == &newest || connection.sending() == 0) continue;
    total -= connection.sending();
    connection.Close();
  }
}

Connection::Connection(tcp::socket socket, ConnectionContext& context)
    : stream_(std::move(socket)), context_(context), buffer_(2 * context.limits.header_bytes) {
  error_code ignored;
  stream_.socket().set_option(tcp::no_delay(true), ignored);
  place_ = context_.open.insert(context_.open.end(), this);
}

Connection::~Connection() { Close(); }

void Connection::Close() {
  if (place_ == context_.open.end()) return;
  context_.open.erase(std::exchange(place_, context_.open.end()));
  stream_.close();
}

void Connection::AwaitRequest() {
  stream_.expires_after(context_.limits.idle);
  stream_.async_read_some(buffer_.prepare(1024),
                          [self = shared_from_this()](const error_code& error, std::size_t size) {
                            if (error) return self->Close();
                            self->buffer_.commit(size);
                            self->ReadHeader();
                          });
}

void Connection::ReadHeader() {
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(context_.limits.header_bytes));
  parser_->body_limit(0);
  stream_.expires_after(context_.limits.request);
  http::async_read_header(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](const error_code& error, std::size_t) { self->OnHeader(error); });
}

void Connection::OnHeader(const error_code& error) {
  if (place_ == context_.open.end()) return;
  const auto& header = parser_->get();
  const bool known = header.method() == http::verb::get || header.method() == http::verb::head;
  if (error && error != http::error::body_limit) {
    const int status = StatusFor(error);
    return status == 0 ? Close() : Refuse(status);
  }
  context_.open.splice(context_.open.end(), context_.open, place_);
  // A coding that is not understood hides where the request ends.
  if (header.count(http::field::transfer_encoding) > 0 && !parser_->chunked()) return Refuse(501);
  // Bodies are not read, so the next request on the connection cannot be found after one.
  const bool whole = !error && parser_->is_done();
  if (!known) {
    return whole ? Send({405, kPlainText, "use GET or HEAD\n"}, header.keep_alive()) : Refuse(405);
  }
  if (!whole) return Refuse(413);
  if (header.target().size() > context_.limits.target_bytes) return Refuse(414);
  if (header.count(http::field::host) > 1) return Refuse(400);
  HttpRequest request;
  request.path = PathIn(View(header.target()));
  if (request.path.empty()) return Refuse(400);
  request.host = View(header[http::field::host]);
  request.if_none_match = View(header[http::field::if_none_match]);
  const auto [encodings, end] = header.equal_range(http::field::accept_encoding);
  request.takes_gzip =
      std::any_of(encodings, end, [](const auto& field) { return TakesGzip(View(field.value())); });
  Answer(request, header.keep_alive());
}

void Connection::Answer(const HttpRequest& request, bool keep_alive) {
  HttpAnswer answer =
      Guarded([&] { return context_.handler(request); }, request.path, context_.log);
  if (auto* response = std::get_if<HttpResponse>(&answer)) {
    return Send(std::move(*response), keep_alive);
  }
  if (context_.waiting >= context_.limits.waiting) {
    return Send({503, kPlainText, "too many requests; retry in a second\n"}, keep_alive);
  }
  AnswerLater(std::get<SlowHttpResponse>(std::move(answer)), request.path, keep_alive);
}

void Connection::AnswerLater(SlowHttpResponse make, std::string path, bool keep_alive) {
  ++context_.waiting;
  // The slow thread passes its reference back: it must not destroy the connection.
  asio::post(context_.slow, [self = shared_from_this(), make = std::move(make),
                             path = std::move(path), keep_alive]() mutable {
    const auto executor = self->stream_.get_executor();
    HttpResponse response = Guarded(make, path, self->context_.log);
    asio::post(executor,
               [self = std::move(self), response = std::move(response), keep_alive]() mutable {
                 --self->context_.waiting;
                 if (self->place_ == self->context_.open.end()) return;
                 self->Send(std::move(response), keep_alive);
               });
  });
}

void Connection::Refuse(int status) {
  const std::string_view reason = View(http::obsolete_reason(http::int_to_status(status)));
  Send({status, kPlainText, std::string(reason) + "\n"}, false);
}

void Connection::Send(HttpResponse response, bool keep_alive) {
  const auto& request = parser_->get();
  if (request.method() != http::verb::head) sending_ = response.body.size();
  context_.LimitSending(*this);
  const unsigned version = request.version() == 10 ? 10 : 11;
  const auto status = http::int_to_status(static_cast<unsigned>(response.status));
  const auto generate = [&]() -> http::message_generator {
    if (request.method() == http::verb::head) {
      http::response<http::empty_body> message(status, version);
      SetHeader(message, response, keep_alive);
      return message;
    }
    http::response<http::string_body> message(status, version);
    SetHeader(message, response, keep_alive);
    message.body() = std::move(response.body);
    return message;
  };
  stream_.expires_after(context_.limits.response);
  beast::async_write(stream_, generate(),
                     [self = shared_from_this(), keep_alive](const error_code& error, std::size_t) {
                       if (error) return self->Close();
                       self->OnSent(keep_alive);
                     });
}

void Connection::OnSent(bool keep_alive) {
  sending_ = 0;
  if (place_ == context_.open.end()) return;
  if (keep_alive) return buffer_.size() > 0 ? ReadHeader() : AwaitRequest();
  // Closing with unread bytes in the socket resets the connection, and the client may lose the
  // response: shut down our half, read for a moment, then close.
  error_code error;
  stream_.socket().shutdown(tcp::socket::shutdown_send, error);
  if (error) return Close();
  stream_.expires_after(context_.limits.linger);
  Drain(kDrainBytes);
}

void Connection::Drain(std::size_t budget) {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(4096), [self = shared_from_this(), budget](
                                                     const error_code& error, std::size_t size) {
    if (error || size >= budget) return self->Close();
    self->Drain(budget - size);
  });
}

}  // namespace patchbay
