#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace patchbay {

/// The bounds of a response, in bytes.
struct ResponseLimits {
  std::size_t header = 32 << 10;
  std::size_t body = 8 << 20;            ///< of a status of 200 to 299
  std::size_t body_of_error = 64 << 10;  ///< of any other status
};

/// Reads one HTTP/1.0 or 1.1 response from bytes as they arrive: a body with a length, in chunks,
/// or until the connection ends. Content encodings are not accepted, because none was requested.
/// Informational responses are skipped. Not thread-safe; a reader is for one response.
class ResponseReader {
 public:
  explicit ResponseReader(const ResponseLimits& limits);

  /// Reads the next bytes. Fails with kInvalid if the response is not valid or exceeds a bound; the
  /// connection is not usable then. Bytes after the end of the response are kept, see has_excess.
  Status Feed(std::string_view bytes);
  /// The connection has ended. Fails with kUnavailable if the response is incomplete.
  Status Finish();

  /// Returns whether any byte of the response has arrived.
  bool has_begun() const { return has_begun_; }
  bool has_header() const { return parser_->is_final(); }
  bool is_done() const { return parser_->is_final() && parser_->is_done(); }
  /// Returns whether the server sent more than the response: the connection is not usable again.
  bool has_excess() const { return !pending_.empty(); }
  /// Returns whether the connection can be used again. Only if is_done().
  bool keeps_alive() const { return parser_->keep_alive() && !has_excess(); }

  /// The values of the header. Only if has_header().
  unsigned status() const { return parser_->status; }
  bool is_success() const { return status() >= 200 && status() < 300; }
  /// "" if there is none.
  const std::string& retry_after() const { return parser_->retry_after; }

  /// Returns the part of the body that arrived since the last call.
  std::string TakeBody();

 private:
  class Parser : public boost::beast::http::basic_parser<false> {
   public:
    explicit Parser(const ResponseLimits& limits);

    /// Returns whether the header of a response that is not informational is complete.
    bool is_final() const { return is_header_done() && status >= 200; }

    /// Returns whether the line of a chunk is next.
    bool is_at_chunk_line() const { return is_header_done() && chunked() && chunk_left_ == 0; }

    unsigned status = 0;
    std::string retry_after;
    std::string body;
    std::string problem;  ///< of a header or body that Beast accepts

   private:
    using Error = boost::beast::error_code;
    using Text = boost::beast::string_view;
    using Field = boost::beast::http::field;
    using Verb = boost::beast::http::verb;

    void on_request_impl(Verb, Text, Text, int, Error&) override {}
    void on_response_impl(int code, Text, int, Error&) override;
    void on_field_impl(Field field, Text, Text value, Error& error) override;
    void on_header_impl(Error& error) override;
    void on_body_init_impl(const boost::optional<std::uint64_t>& length, Error& error) override;
    std::size_t on_body_impl(Text text, Error& error) override;
    void on_chunk_header_impl(std::uint64_t size, Text, Error&) override { chunk_left_ = size; }
    std::size_t on_chunk_body_impl(std::uint64_t, Text text, Error& error) override;
    void on_finish_impl(Error&) override {}

    void Refuse(std::string text, Error& error);

    ResponseLimits limits_;
    std::size_t body_bytes_ = 0;
    std::uint64_t chunk_left_ = 0;  ///< bytes of the current chunk that are missing
    bool is_in_body_ = false;
  };

  Status Parse();

  ResponseLimits limits_;
  std::optional<Parser> parser_;  ///< always set; replaced after an informational response
  std::string pending_;           ///< bytes that are not parsed yet
  std::size_t header_bytes_ = 0;  ///< of all headers so far
  bool has_begun_ = false;
};

}  // namespace patchbay
