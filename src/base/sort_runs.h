#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace patchbay {

/// Sorts a range that is almost sorted: it merges the ascending runs, so that the time is linear
/// for a few runs and O(n log n) for any. Stable.
template <class Iterator, class Less = std::less<>>
void SortRuns(Iterator begin, Iterator end, Less less = {}) {
  std::vector<Iterator> bounds{begin};
  while (bounds.back() != end) bounds.push_back(std::is_sorted_until(bounds.back(), end, less));
  while (bounds.size() > 2) {
    std::vector<Iterator> merged{begin};
    for (std::size_t i = 2; i < bounds.size(); i += 2) {
      std::inplace_merge(bounds[i - 2], bounds[i - 1], bounds[i], less);
      merged.push_back(bounds[i]);
    }
    if (bounds.size() % 2 == 0) merged.push_back(end);  // a run without a partner
    bounds = std::move(merged);
  }
}

}  // namespace patchbay
