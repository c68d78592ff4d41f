#pragma once

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace patchbay {

/// The bounds of a response, in bytes.
struct ResponseLimits {
  std::size_t header = 32 << 10;
  std::size_t body = 8 << 20;            ///< of a status of 200 to 299
  std::size_t body_of_error = 64 << 10;  ///< of any other status
};

/// Reads one HTTP/1.0 or 1.1 response from bytes as they arrive, with Beast's parser and bounds.
/// Content encodings are not accepted, because none was requested. Informational responses are
/// skipped. Not thread-safe; a reader is for one response.
class ResponseReader {
 public:
  explicit ResponseReader(const ResponseLimits& limits);

  /// Reads the next bytes. Fails with kInvalid if the response is not valid or exceeds a bound; the
  /// connection is not usable then. Bytes after the end of the response are kept unread.
  Status Feed(std::string_view bytes);
  /// The connection has ended. Fails with kUnavailable if the response is incomplete.
  Status Finish();

  /// Returns whether any byte of the response has arrived.
  bool has_begun() const { return has_begun_; }
  bool has_header() const { return parser_->is_header_done() && status() >= 200; }
  bool is_done() const { return has_header() && parser_->is_done(); }
  /// Returns whether the connection can be used again. Only if is_done().
  bool keeps_alive() const { return parser_->keep_alive() && unread_.empty(); }

  /// The values of the header. Only if has_header().
  unsigned status() const { return parser_->get().result_int(); }
  /// Returns whether the status is 200 to 299; false before the header is complete.
  bool is_success() const { return has_header() && status() < 300; }
  /// "" if there is none.
  std::string retry_after() const {
    return std::string(parser_->get()[boost::beast::http::field::retry_after]);
  }

  /// Returns the part of the body that arrived since the last call.
  std::string TakeBody() { return std::exchange(parser_->get().body(), {}); }

 private:
  void Restart();
  Status OnHeader();

  ResponseLimits limits_;
  /// Always set; replaced after an informational response.
  std::optional<boost::beast::http::response_parser<boost::beast::http::string_body>> parser_;
  std::string unread_;
  std::size_t header_bytes_ = 0;  ///< of all headers so far
  std::size_t max_body_ = 0;      ///< set with the header
  bool has_begun_ = false;
  bool has_body_ = false;  ///< the parser has read some of it
};

}  // namespace patchbay
