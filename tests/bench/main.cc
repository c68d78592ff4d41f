// Benchmarks of the whole program. Each line has a figure, its limit, and their ratio; a ratio of
// at most 1.00 passes. Machines differ, so figures are ratios of two measurements of the same run
// where possible.
#include <absl/synchronization/mutex.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure.h"

namespace patchbay::bench {

/// Runs all benchmarks, or those whose names are given.
int Main(std::vector<std::string> wanted) {
  const std::pair<std::string, void (*)()> measures[] = {
      {"allocate", BenchAllocate},       {"hotplug", BenchHotplugs},
      {"restart", BenchKubeletRestart},  {"start", BenchStarts},
      {"resources", BenchManyResources}, {"directories", BenchDirectories},
      {"memory", BenchMemory},           {"memory-10k", BenchLargeMemory},
      {"health", BenchHealth},           {"reload", BenchReload},
      {"scrape", BenchScrape},           {"dra", BenchDra},
  };
  for (const auto& [name, measure] : measures) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end()) measure();
  }
  return 0;
}

}  // namespace patchbay::bench

int main(int argc, char** argv) {
  // As in the daemon, so that neither side of a call pays for the deadlock detection of Abseil.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const patchbay::test::InMemory not_the_disk;
  return patchbay::bench::Main({argv + 1, argv + argc});
}
