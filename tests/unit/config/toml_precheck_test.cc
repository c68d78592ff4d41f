#include "config/toml_precheck.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(TomlPrecheck, RejectsInputThatBreaksTheParser) {
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
