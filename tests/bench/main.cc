// The measures of the whole program. Every line holds a figure, the bar it is held to, and their
// ratio: at most 1.00 is met. Machines differ, so what can be is taken as a ratio of two things
// measured in this run.
#include <absl/synchronization/mutex.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure.h"

namespace patchbay::bench {

/// All measures, or those whose names are given.
int Main(std::vector<std::string> wanted) {
  const std::pair<std::string, void (*)()> measures[] = {
      {"allocate", BenchAllocate},       {"hotplug", BenchHotplugs},
      {"restart", BenchKubeletRestart},  {"start", BenchStarts},
      {"resources", BenchManyResources}, {"directories", BenchDirectories},
      {"memory", BenchMemory},           {"memory-10k", BenchLargeMemory},
      {"health", BenchHealth},           {"reload", BenchReload},
      {"scrape", BenchScrape},
  };
  for (const auto& [name, measure] : measures) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end()) measure();
  }
  return 0;
}

}  // namespace patchbay::bench

int main(int argc, char** argv) {
  // As the daemon does: neither side of a call pays for abseil's debugging.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const patchbay::test::InMemory not_the_disk;
  return patchbay::bench::Main({argv + 1, argv + argc});
}
