#include "http/gzip.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "gunzip.h"

namespace patchbay {
namespace {

TEST(GzipTest, RoundTrips) {
  EXPECT_EQ(test::Gunzip(Gzip("")), "");
  EXPECT_EQ(test::Gunzip(Gzip("one line\n")), "one line\n");
}

TEST(GzipTest, CompressesRepetitiveText) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) {
    text += "patchbay_device_healthy{device=\"n" + std::to_string(i) + "\"} 1\n";
  }
  const std::string packed = Gzip(text);
  EXPECT_LT(packed.size(), text.size() / 8);
  EXPECT_EQ(test::Gunzip(packed), text);
}

TEST(GzipTest, AcceptsIncompressibleBytes) {
  std::minstd_rand random(7);
  std::string noise;
  for (int i = 0; i < 200'000; ++i) noise += static_cast<char>(random());
  EXPECT_EQ(test::Gunzip(Gzip(noise)), noise);
}

TEST(GzipTest, ParsesAcceptEncoding) {
  for (const char* header :
       {"gzip", "GZip", "deflate, gzip", "gzip;q=0.5", "gzip; q=1.000, identity;q=0.1",
        "br;q=1.0, gzip;q=0.001, *;q=0", "zstd,gzip", "identity;q=0, gzip"}) {
    EXPECT_TRUE(TakesGzip(header)) << header;
  }
  for (const char* header :
       {"", "identity", "deflate, br", "gzip;q=0", "gzip; Q=0.000", "gzip ; q=0", "gzipped", "*",
        "\"gzip\"", ";q=1", "identity, gzip;q=0", "=", ",,,"}) {
    EXPECT_FALSE(TakesGzip(header)) << header;
  }
}

}  // namespace
}  // namespace patchbay
