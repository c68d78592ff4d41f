// Benchmarks of the whole program. Machines differ, so figures are ratios of two measurements of
// the same run where possible. figures.h has all figures and their bars.
#include <absl/synchronization/mutex.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "bench/bare_plugin.h"
#include "bench/bare_server.h"
#include "bench/call_times.h"
#include "bench/measure.h"
#include "os/unique_fd.h"

namespace patchbay::bench {
namespace {

constexpr std::string_view kUsage = R"(Usage: patchbay_bench [--strict] [BENCHMARK...]

Measures a daemon and prints each figure with its bar. Runs all benchmarks if none is named, which
takes about twelve minutes. Needs root. Other load on the machine makes figures worse.

  --strict  exit with 1 if a figure exceeds its bar
  --help    print this text

Benchmarks:
)";

struct Benchmark {
  std::string_view name;
  std::string_view measures;
  void (*run)(Report&);
};

constexpr Benchmark kBenchmarks[] = {
    {"allocate", "Allocate, compared with an empty call and with bare gRPC servers", BenchAllocate},
    {"hotplug", "the time until the kubelet has a new device", BenchHotplugs},
    {"restart", "the time until a new kubelet has all lists", BenchKubeletRestart},
    {"start", "the time until the kubelet has the first list", BenchStarts},
    {"resources", "threads, memory and times with 128 resources", BenchManyResources},
    {"directories", "10,000 devices in ten directories", BenchDirectories},
    {"memory", "memory and CPU time of ten resources at rest", BenchMemory},
    {"memory-10k", "memory of 10,000 devices, and its growth", BenchLargeMemory},
    {"health", "probes: CPU time, memory and the time until the kubelet has a result", BenchHealth},
    {"reload", "the time until the kubelet has an edit of the configuration", BenchReload},
    {"scrape", "scrapes of 1,000 devices, and Allocate at the same time", BenchScrape},
    {"dra", "Dynamic Resource Allocation, with an API server", BenchDra},
};

std::string Help() {
  std::string help(kUsage);
  for (const Benchmark& each : kBenchmarks)
    help += Format("  {:<12} {}\n", each.name, each.measures);
  return help;
}

const Benchmark* FindBenchmark(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kBenchmarks), std::end(kBenchmarks),
                   [&](const Benchmark& benchmark) { return benchmark.name == name; });
  return found == std::end(kBenchmarks) ? nullptr : found;
}

/// Lets the kernel read the program again, as after a restart of the node. Resident memory includes
/// the mapped parts of the program, and Linux 6.18 maps as much at once as it has in one piece in
/// its page cache: more of a file that was just written, by up to a megabyte.
void DropFromPageCache(const char* program) {
  const UniqueFd fd(open(program, O_RDONLY | O_CLOEXEC));
  if (!fd || fsync(fd.get()) != 0 || posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED) != 0) {
    std::perror(program);
  }
}

int RunBenchmarks(const std::vector<const Benchmark*>& wanted, bool is_strict) {
  const test::InMemory not_the_disk;
  DropFromPageCache(PATCHBAY_BINARY);
  Report report;
  for (const Benchmark& benchmark : kBenchmarks) {
    const bool is_wanted = std::find(wanted.begin(), wanted.end(), &benchmark) != wanted.end();
    if (wanted.empty() || is_wanted) benchmark.run(report);
  }
  const bool all_met = report.Conclude(wanted.empty());
  return is_strict && !all_met ? 1 : 0;
}

int Main(const std::vector<std::string>& arguments) {
  bool is_strict = false;
  std::vector<const Benchmark*> wanted;
  for (const std::string& argument : arguments) {
    if (argument == "--help") {
      std::fputs(Help().c_str(), stdout);
      return 0;
    }
    if (argument == "--strict") {
      is_strict = true;
    } else if (const Benchmark* const benchmark = FindBenchmark(argument)) {
      wanted.push_back(benchmark);
    } else {
      std::fprintf(stderr, "patchbay_bench: unknown benchmark or option \"%s\"\n\n%s",
                   argument.c_str(), Help().c_str());
      return 2;
    }
  }
  return RunBenchmarks(wanted, is_strict);
}

/// The programs that benchmarks start in other processes, by their first argument.
struct Role {
  std::string_view argument;
  int (*run)(const std::vector<std::string>& arguments);
};
constexpr Role kRoles[] = {
    {kServeArgument, ServeBare}, {kPluginArgument, RunBarePlugin}, {kCallArgument, CallPlugins}};

int MainOfProcess(std::vector<std::string> arguments) {
  for (const Role& role : kRoles) {
    if (arguments.empty() || arguments.front() != role.argument) continue;
    arguments.erase(arguments.begin());
    return role.run(arguments);
  }
  return Main(arguments);
}

}  // namespace
}  // namespace patchbay::bench

int main(int argc, char** argv) {
  // As in the daemon, so that neither side of a call pays for the deadlock detection of Abseil.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return patchbay::bench::MainOfProcess({argv + 1, argv + argc});
}
