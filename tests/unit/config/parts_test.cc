#include <gtest/gtest.h>

#include "config/duration.h"
#include "config/normalize.h"
#include "config/toml_precheck.h"

namespace patchbay {
namespace {

using std::chrono::milliseconds;

TEST(Duration, ParsesANumberAndAUnit) {
  EXPECT_EQ(ParseDuration("250ms"), milliseconds(250));
  EXPECT_EQ(ParseDuration("30s"), milliseconds(30'000));
  EXPECT_EQ(ParseDuration("5m"), milliseconds(300'000));
  EXPECT_EQ(ParseDuration("1h"), milliseconds(3'600'000));
  EXPECT_EQ(ParseDuration("0s"), milliseconds(0));
  for (const std::string_view bad : {"", "5", "s", "5 s", " 5s", "5s ", "-5s", "+5s", "1.5s", "5d",
                                     "1m30s", "5S", "99999999999999999999s", "9999999999h"}) {
    EXPECT_FALSE(ParseDuration(bad)) << bad;
  }
}

TEST(Duration, FormatsInTheLargestUnit) {
  for (const std::string_view text : {"250ms", "90s", "5m", "36h", "0s"}) {
    EXPECT_EQ(FormatDuration(*ParseDuration(text)), text);
  }
  EXPECT_EQ(FormatDuration(milliseconds(60'000)), "1m");
}

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

TEST(TextCheck, RejectsInputThatBreaksTheParser) {
  EXPECT_FALSE(
      ProblemWithText("a = \"é\" # é\nb = 'é'\nc = \"\"\"é\n\"é\"\"\"\"\nd = '''é\n'é'''"));
  EXPECT_FALSE(ProblemWithText("a = \"\\\"é\"\n\"é\" = 1"));
  EXPECT_EQ(ProblemWithText("a = 'x' é")->offset, 8u);
  EXPECT_EQ(ProblemWithText("a = '\\'é'")->offset, 7u);  // the backslash does not escape there
  EXPECT_EQ(ProblemWithText("a = \"x\né")->offset, 7u);
  EXPECT_EQ(ProblemWithText("a = '''x'''é")->offset, 11u);
  EXPECT_FALSE(ProblemWithText("a.b.c = 1\nd.e.f = 1\ng.h.i.j.k.l.m.n.o.p.q = 1"));
  EXPECT_EQ(ProblemWithText("a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r = 1")->offset, 33u);
}

}  // namespace
}  // namespace patchbay
