#include "config/normalize.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(Permissions, AreNormalized) {
  EXPECT_EQ(NormalizedPermissions("mrw"), "rwm");
  EXPECT_EQ(NormalizedPermissions("w"), "w");
  for (const std::string_view bad : {"", "rx", "rr", "rwmr", "RW", "r w"}) {
    EXPECT_FALSE(NormalizedPermissions(bad)) << bad;
  }
}

TEST(ListenAddress, RequiresAnIpAddressAndAPort) {
  EXPECT_EQ(NormalizedListenAddress(":9478"), "[::]:9478");
  for (const std::string_view good : {"[::]:9478", "0.0.0.0:0", "127.0.0.1:65535", "[::1]:80"}) {
    EXPECT_EQ(NormalizedListenAddress(good), good);
  }
  for (const std::string_view bad : {"",
                                     ":",
                                     "9478",
                                     "localhost",
                                     "localhost:80",
                                     "localhost:",
                                     "localhost:x",
                                     "localhost:65536",
                                     "localhost:-1",
                                     "localhost:+1",
                                     "::1:80",
                                     "[::1]",
                                     "[::1:80",
                                     "[]:80",
                                     "[1.2.3.4]:80",
                                     "1.2.3:80",
                                     "1.2.3.400:80",
                                     "a b:80",
                                     "-a:80",
                                     "a..b:80",
                                     "http://a:80"}) {
    EXPECT_FALSE(NormalizedListenAddress(bad)) << bad;
  }
}

}  // namespace
}  // namespace patchbay
