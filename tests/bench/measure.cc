#include "bench/measure.h"

#include <algorithm>
#include <cstdio>

#include "base/format.h"

namespace patchbay::bench {

double Ms(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

double Quantile(std::vector<double> samples, double share) {
  std::sort(samples.begin(), samples.end());
  const auto last = static_cast<double>(samples.size() - 1);
  return samples[static_cast<std::size_t>(share * last + 0.5)];
}

void Print(const std::string& what, double value, double bar, const char* unit) {
  std::printf("%-64s %10.3f %-5s bar %8.2f  ratio %5.2f %s\n", what.c_str(), value, unit, bar,
              value / bar, value <= bar ? "" : "  MISSED");
  std::fflush(stdout);
}

std::string Config(int count) {
  std::string toml;
  for (int i = 0; i < count; ++i) {
    toml += format(
        "[[resource]]\nname = \"bench.dev/r{0}\"\nforget_after = \"1s\"\n"
        "[[resource.match]]\npath = \"/dev/r{0}/n*\"\n[resource.env]\nNODE = \"{{path}}\"\n",
        i);
  }
  return toml;
}

void MakeNodes(test::TempTree& host, int resource, int count) {
  host.Dir(format("dev/r{}", resource));
  for (int i = 0; i < count; ++i) host.CharDevice(format("dev/r{}/n{}", resource, i));
}

}  // namespace patchbay::bench
