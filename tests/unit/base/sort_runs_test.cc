#include "base/sort_runs.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>

namespace patchbay {
namespace {

TEST(SortRunsTest, SortsLikeAStableSort) {
  std::mt19937 random(4711);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::pair<int, int>> values(random() % 40);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool continues_run = i > 0 && random() % (1U + static_cast<unsigned>(round) % 9) != 0;
      values[i] = {continues_run ? values[i - 1].first + static_cast<int>(random() % 2)
                                 : static_cast<int>(random() % 20),
                   static_cast<int>(i)};
    }
    auto expected = values;
    const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::stable_sort(expected.begin(), expected.end(), less);
    SortRuns(values.begin(), values.end(), less);
    ASSERT_EQ(values, expected);
  }
}

TEST(SortRunsTest, ComparesAnAlmostSortedRangeOnlyAFewTimes) {
  constexpr int kValues = 10'000;
  std::vector<int> values;
  for (int i = 0; i < kValues; ++i) values.push_back(2 * i);
  values.push_back(kValues + 1);
  std::size_t comparisons = 0;
  SortRuns(values.begin(), values.end(), [&](int a, int b) {
    ++comparisons;
    return a < b;
  });
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
  EXPECT_LE(comparisons, 3U * kValues);
}

}  // namespace
}  // namespace patchbay
