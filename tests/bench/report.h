#pragma once

#include <set>
#include <string>
#include <vector>

#include "bench/figures.h"

namespace patchbay::bench {

/// A value that was computed from samples, and how far they spread: their interquartile range
/// relative to their median.
struct Estimate {
  double value;
  double spread;
};

/// Prints figures, and keeps the names of those that exceed their bars.
class Report {
 public:
  /// Prints the head of the table.
  Report();

  void Add(FigureName name, const Estimate& measured);
  /// For a value that was measured once.
  void Add(FigureName name, double value);
  /// Prints which figures exceed their bars and, if `all_ran`, which were not added.
  /// Returns whether there are none.
  bool Conclude(bool all_ran) const;

 private:
  void Print(const Figure& figure, double value, const std::string& spread);

  std::set<std::string> added_;
  std::vector<std::string> missed_;
};

}  // namespace patchbay::bench
