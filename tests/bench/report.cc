#include "bench/report.h"

#include <cstdio>

#include "base/format.h"

namespace patchbay::bench {
namespace {

/// The name, value, unit, bar, ratio and spread of a figure.
constexpr const char* kLine = "{:<62} {:>10} {:<4} {:>8} {:>6} {:>7}{}\n";

template <class... Cells>
void PrintLine(const Cells&... cells) {
  std::fputs(Format(kLine, cells...).c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

Report::Report() {
  std::puts(
      "ratio: value / bar; at most 1.00 passes.\n"
      "spread: the interquartile range of the samples relative to their median; for a ratio of two "
      "kinds of\n        calls, that of the ratios of the rounds; \"-\" if measured once.\n");
  PrintLine("figure", "value", "unit", "bar", "ratio", "spread", "");
}

void Report::Add(FigureName name, const Estimate& measured) {
  Print(name.figure(), measured.value, Format("{:.0f} %", measured.spread * 100));
}

void Report::Add(FigureName name, double value) { Print(name.figure(), value, "-"); }

void Report::Print(const Figure& figure, double value, const std::string& spread) {
  added_.emplace(figure.name);
  const std::string shown = Format("{:.3f}", value);
  if (figure.bar == kNoBar) return PrintLine(figure.name, shown, figure.unit, "-", "-", spread, "");
  const bool is_met = value <= figure.bar;
  PrintLine(figure.name, shown, figure.unit, Format("{:.2f}", figure.bar),
            Format("{:.2f}", value / figure.bar), spread, is_met ? "" : "  MISSED");
  if (!is_met) missed_.emplace_back(figure.name);
}

bool Report::Conclude(bool all_ran) const {
  std::vector<std::string> failed = missed_;
  for (const Figure& figure : kFigures) {
    const std::string name(figure.name);
    if (all_ran && !added_.contains(name)) failed.push_back(name + " (not measured)");
  }
  if (failed.empty()) {
    std::puts(all_ran ? "\nAll bars are met." : "\nThe bars of these benchmarks are met.");
    return true;
  }
  std::printf("\nMissed bars: %zu\n", failed.size());
  for (const std::string& name : failed) std::printf("  %s\n", name.c_str());
  return false;
}

}  // namespace patchbay::bench
