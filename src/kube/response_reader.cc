// Beast's parser does the parsing; this file feeds it and adds the bounds that it lacks. The parser
// consumes complete fields and all bytes of a body, and leaves an incomplete header line, or line
// of a chunk, in `pending_`, which therefore must not grow beyond the limit of the header. Its own
// limit does not count fields that were consumed by an earlier call; `header_bytes_` does.

#include "kube/response_reader.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <utility>

#include "base/escape.h"
#include "base/format.h"

namespace patchbay {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

constexpr std::string_view kCheckServer =
    "check that server is the address of a Kubernetes API server";

/// "0\r\n\r\n". At the line of a chunk at least this much is missing, and the parser asserts that
/// it has it once it has seen the zero.
constexpr std::size_t kMinChunkedEnd = 5;

Failure InvalidResponse(std::string_view problem) {
  return Fail(ErrorKind::kInvalid,
              Format("the response is not valid: {}; {}", problem, kCheckServer));
}

}  // namespace

ResponseReader::ResponseReader(const ResponseLimits& limits) : limits_(limits) {
  parser_.emplace(limits);
}

Status ResponseReader::Feed(std::string_view bytes) {
  has_begun_ = has_begun_ || !bytes.empty();
  pending_ += bytes;
  if (is_done()) return {};
  return Parse();
}

Status ResponseReader::Parse() {
  while (!pending_.empty() && !is_done()) {
    if (parser_->is_at_chunk_line() && pending_.size() < kMinChunkedEnd) return {};
    const bool in_header = !parser_->is_header_done();
    beast::error_code error;
    const std::size_t consumed = parser_->put(boost::asio::buffer(pending_), error);
    pending_.erase(0, consumed);
    if (in_header) header_bytes_ += consumed;
    if (header_bytes_ > limits_.header) error = http::error::header_limit;
    if (error == http::error::need_more) {
      if (pending_.size() <= limits_.header) return {};
      error = http::error::header_limit;
    }
    if (!parser_->problem.empty()) return InvalidResponse(parser_->problem);
    if (error == http::error::header_limit) {
      return InvalidResponse(Format("its header is longer than {} bytes", limits_.header));
    }
    if (error) return InvalidResponse(Printable(error.message()));
    if (parser_->is_header_done() && !parser_->is_final()) {
      parser_.emplace(limits_);
    }
  }
  return {};
}

Status ResponseReader::Finish() {
  if (is_done()) return {};
  if (has_header()) {
    beast::error_code error;
    parser_->put_eof(error);
    if (!error) return {};
  }
  return Fail(ErrorKind::kUnavailable, has_begun_ ? "the connection ended within the response"
                                                  : "the connection ended before the response");
}

std::string ResponseReader::TakeBody() { return std::exchange(parser_->body, {}); }

ResponseReader::Parser::Parser(const ResponseLimits& limits) : limits_(limits) {
  eager(true);
  header_limit(static_cast<std::uint32_t>(limits.header));
  body_limit(boost::none);  // on_body_impl has the limit, which depends on the status
}

void ResponseReader::Parser::Refuse(std::string text, Error& error) {
  problem = std::move(text);
  error = http::error::bad_value;
}

void ResponseReader::Parser::on_response_impl(int code, Text, int, Error& error) {
  status = static_cast<unsigned>(code);
  if (status < 100 || status > 599) Refuse(Format("its status is {}", code), error);
}

void ResponseReader::Parser::on_field_impl(Field field, Text, Text value, Error& error) {
  if (is_in_body_) return;  // a trailer
  const std::string_view text(value.data(), value.size());
  if (field == Field::retry_after) retry_after = text;
  const bool encodes = field == Field::content_encoding && !beast::iequals(value, "identity");
  const bool transfers = field == Field::transfer_encoding && !beast::iequals(value, "chunked");
  if (encodes || transfers) {
    Refuse("its body has an encoding that was not requested", error);
  }
}

void ResponseReader::Parser::on_header_impl(Error&) { is_in_body_ = true; }

void ResponseReader::Parser::on_body_init_impl(const boost::optional<std::uint64_t>&, Error&) {}

std::size_t ResponseReader::Parser::on_body_impl(Text text, Error& error) {
  const std::size_t max = status >= 200 && status < 300 ? limits_.body : limits_.body_of_error;
  if (text.size() > max - body_bytes_) {
    Refuse(Format("its body is longer than {} bytes", max), error);
    return 0;
  }
  body_bytes_ += text.size();
  body.append(text.data(), text.size());
  return text.size();
}

std::size_t ResponseReader::Parser::on_chunk_body_impl(std::uint64_t, Text text, Error& error) {
  const std::size_t size = on_body_impl(text, error);
  chunk_left_ -= size;
  return size;
}

}  // namespace patchbay
