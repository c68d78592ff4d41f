#include "kube/response_reader.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>

#include "base/escape.h"
#include "base/format.h"

namespace patchbay {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

/// "0\r\n\r\n". Beast asserts that it has that much once it has seen the zero.
constexpr std::size_t kMinChunkedBody = 5;

Failure InvalidResponse(std::string_view problem) {
  return Fail(ErrorKind::kInvalid, Format("the response is not valid: {}; check that server is the "
                                          "address of a Kubernetes API server",
                                          problem));
}

}  // namespace

ResponseReader::ResponseReader(const ResponseLimits& limits) : limits_(limits) { Restart(); }

void ResponseReader::Restart() {
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(limits_.header));
  parser_->body_limit(boost::none);  // OnHeader sets it: it depends on the status
}

Status ResponseReader::Feed(std::string_view bytes) {
  has_begun_ = has_begun_ || !bytes.empty();
  unread_ += bytes;
  while (!unread_.empty() && !is_done()) {
    const bool in_header = !has_header();
    const bool may_be_empty =
        !in_header && !has_body_ && parser_->chunked() && unread_.front() == '0';
    if (may_be_empty && unread_.size() < kMinChunkedBody) return {};
    beast::error_code error;
    const std::size_t read = parser_->put(boost::asio::buffer(unread_), error);
    unread_.erase(0, read);
    has_body_ = has_body_ || (!in_header && read > 0);
    // Beast's limit is for one call: it does not count fields that an earlier one has read. A line
    // of a chunk and the trailer, of which nothing is read until they are complete, have none.
    if (in_header) header_bytes_ += read;
    const std::size_t held = error == http::error::need_more ? unread_.size() : 0;
    if (std::max(header_bytes_, held) > limits_.header || error == http::error::header_limit) {
      return InvalidResponse(Format("its header is longer than {} bytes", limits_.header));
    }
    if (error == http::error::need_more) return {};
    if (error == http::error::body_limit) {
      return InvalidResponse(Format("its body is longer than {} bytes", max_body_));
    }
    if (error) return InvalidResponse(Printable(error.message()));
    if (in_header && parser_->is_header_done()) TRY(OnHeader());
  }
  return {};
}

Status ResponseReader::OnHeader() {
  if (status() < 100 || status() > 599) {
    return InvalidResponse(Format("its status is {}", status()));
  }
  if (status() < 200) {
    Restart();
    return {};
  }
  for (const auto& field : parser_->get()) {
    const bool encodes =
        field.name() == http::field::content_encoding && !beast::iequals(field.value(), "identity");
    const bool transfers =
        field.name() == http::field::transfer_encoding && !beast::iequals(field.value(), "chunked");
    if (encodes || transfers) {
      return InvalidResponse("its body has an encoding that was not requested");
    }
  }
  max_body_ = is_success() ? limits_.body : limits_.body_of_error;
  // The limit is for chunks and bodies without a length; Beast reserves memory for a length.
  if (parser_->content_length().value_or(0) > max_body_) {
    return InvalidResponse(Format("its body is longer than {} bytes", max_body_));
  }
  parser_->body_limit(max_body_);
  parser_->eager(true);
  return {};
}

Status ResponseReader::Finish() {
  if (has_header() && !is_done()) {
    beast::error_code error;
    parser_->put_eof(error);
  }
  if (is_done()) return {};
  return Fail(ErrorKind::kUnavailable, has_begun_ ? "the connection ended within the response"
                                                  : "the connection ended before the response");
}

}  // namespace patchbay
