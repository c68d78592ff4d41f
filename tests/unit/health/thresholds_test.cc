#include "health/thresholds.h"

#include <gtest/gtest.h>

#include <string>

namespace patchbay {
namespace {

/// Returns the health after each result: "+" for a success, "-" for a failure; "H" and "u" for the
/// healths.
std::string Reported(int failures, int successes, Health before_first, const std::string& results) {
  Thresholds thresholds(failures, successes, before_first);
  std::string reported;
  for (const char result : results) {
    const Health before = thresholds.health();
    const bool changed = thresholds.Step(result == '+');
    EXPECT_EQ(changed, thresholds.health() != before);
    reported += thresholds.health() == Health::kHealthy ? 'H' : 'u';
  }
  return reported;
}

TEST(Thresholds, ConsecutiveResultsDecideTheHealth) {
  constexpr Health kGood = Health::kHealthy, kBad = Health::kUnhealthy;
  struct Case {
    int failures, successes;
    Health before_first;
    const char* results;
    const char* reported;
  };
  const Case cases[] = {
      {1, 1, kGood, "+-+-", "HuHu"},
      {3, 1, kGood, "--+--", "HHHHH"},
      {3, 1, kGood, "---+-", "HHuHH"},
      {3, 1, kGood, "----", "HHuu"},
      {3, 2, kGood, "---+-++-", "HHuuuuHH"},
      {3, 1, kBad, "---", "uuu"},
      {3, 1, kBad, "+--", "HHH"},
      {1, 3, kBad, "++-+++-", "uuuuuHu"},
      {2, 2, kGood, "-+-+--++", "HHHHHuuH"},
      {1, 1, kBad, "", ""},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Reported(c.failures, c.successes, c.before_first, c.results), c.reported)
        << c.failures << "/" << c.successes << " " << c.results;
  }
}

}  // namespace
}  // namespace patchbay
