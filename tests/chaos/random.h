#pragma once

#include <cstddef>
#include <random>

namespace patchbay::test {

/// Where everything comes from that is left to chance: of one seed come the same draws, if nothing
/// but earlier draws decides what is drawn.
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
