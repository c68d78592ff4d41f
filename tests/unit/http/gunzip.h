#pragma once

#include <gtest/gtest.h>
#define ZLIB_CONST
#include <zlib.h>

#include <string>
#include <string_view>

namespace patchbay::test {

/// Decompresses `packed`, which must be exactly one complete gzip member.
inline std::string Gunzip(std::string_view packed) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
  stream.next_in = reinterpret_cast<const Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  char piece[4096];
  int result = Z_OK;
  while (result == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(piece);
    stream.avail_out = sizeof piece;
    result = inflate(&stream, Z_NO_FLUSH);
    text.append(piece, sizeof piece - stream.avail_out);
  }
  EXPECT_EQ(result, Z_STREAM_END);
  EXPECT_EQ(stream.avail_in, 0U);
  inflateEnd(&stream);
  return text;
}

}  // namespace patchbay::test
