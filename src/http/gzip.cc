#include "http/gzip.h"

#define ZLIB_CONST  // its input is not written to
#include <zlib.h>

#include <array>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <memory>
#include <new>
#include <stdexcept>

namespace patchbay {
namespace {

namespace beast = boost::beast;

// A smaller window, and less of it remembered, is as good for lines that resemble those before
// them.
constexpr int kWindowBits = 12, kGzipFormat = 16, kMemoryLevel = 5;

bool IsZero(beast::string_view weight) {
  return weight.find_first_not_of("0.") == beast::string_view::npos;
}

}  // namespace

std::string Gzip(std::string_view text) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kWindowBits + kGzipFormat, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, deflateEnd);
  stream.next_in = reinterpret_cast<const Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  std::string packed;
  std::array<char, 16 * 1024> piece;
  for (int result = Z_OK; result == Z_OK;) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    result = deflate(&stream, Z_FINISH);
    packed.append(piece.data(), piece.size() - stream.avail_out);
    if (result != Z_OK && result != Z_STREAM_END) throw std::runtime_error("zlib failed");
  }
  packed.shrink_to_fit();
  return packed;
}

bool TakesGzip(std::string_view accept_encoding) {
  // Where the text ends with a name, Beast (1.81) leaves it the parameters of the name before.
  const std::string ended = std::string(accept_encoding) + ',';
  const beast::http::ext_list encodings(ended);
  for (const auto& [name, parameters] : encodings) {
    if (!beast::iequals(name, "gzip")) continue;
    for (const auto& [parameter, value] : parameters) {
      if (beast::iequals(parameter, "q") && IsZero(value)) return false;
    }
    return true;
  }
  return false;
}

}  // namespace patchbay
