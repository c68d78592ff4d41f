#pragma once

#include <cstddef>
#include <random>

namespace patchbay::test {

/// The source of all random choices. The same seed yields the same sequence, as long as the
/// sequence of calls depends only on earlier results.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}

  std::size_t Below(std::size_t end) { return engine_() % end; }
  bool OneIn(std::size_t n) { return Below(n) == 0; }
  template <class List>
  const auto& OneOf(const List& list) {
    return *std::next(std::begin(list), static_cast<std::ptrdiff_t>(Below(std::size(list))));
  }

 private:
  std::mt19937 engine_;
};

}  // namespace patchbay::test
