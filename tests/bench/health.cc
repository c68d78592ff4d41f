#include <sys/inotify.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/format.h"
#include "bench/measure.h"
#include "os/unique_fd.h"

namespace patchbay::bench {
namespace {

std::string WithHealth(std::string_view health) {
  return Format("{}[resource.health]\n{}", Config(1), health);
}

/// Breaks or repairs a device. Returns the time in ms from the moment when the probe has read the
/// file, which inotify reports, until the kubelet has the new list. So the sample includes all work
/// after the read, from the thread of the probe to the table of the kubelet.
double FlipMs(DaemonProcess& daemon, int device, const char* state, std::size_t working) {
  const std::string fresh = daemon.host().path("state/new");
  daemon.host().File("state/new", state);
  const UniqueFd reads(inotify_init1(IN_CLOEXEC));
  if (!reads || inotify_add_watch(reads.get(), fresh.c_str(), IN_ACCESS) < 0) std::exit(1);
  std::filesystem::rename(fresh, daemon.host().path(Format("state/n{}", device)));
  char event[4096];
  if (read(reads.get(), event, sizeof event) <= 0) std::exit(1);
  const auto read_at = Clock::now();
  daemon.AwaitListed(1, working);
  return Ms(daemon.kubelet().View("bench.dev/r0")->last_list - read_at);
}

void BenchFileProbes(Report& report) {
  constexpr int kDevices = 10'000, kFlips = 12;
  constexpr std::chrono::seconds kWindow{30};
  DaemonProcess daemon;
  MakeNodes(daemon.host(), 0, kDevices);
  for (int i = 0; i < kDevices; ++i) daemon.host().File(Format("state/n{}", i), "ok\n");
  daemon.Start(
      WithHealth("file = \"/state/{name}\"\nequals = \"ok\"\nperiod = \"10s\"\n"
                 "failure_threshold = 1\nbefore_first = \"unhealthy\"\n"));
  daemon.AwaitListed(1, kDevices);  // all have been probed once
  const double before = CpuMs(daemon);
  std::this_thread::sleep_for(kWindow);
  report.Add("10,000 file probes every 10 s, percent of a core",
             (CpuMs(daemon) - before) / Ms(kWindow) * 100);

  std::vector<double> samples;
  for (int flip = 0; flip < kFlips; ++flip) {
    // A resource sends at most one list per second.
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    const bool breaks = flip % 2 == 0;
    samples.push_back(FlipMs(daemon, 4200 + flip / 2, breaks ? "broken\n" : "ok\n",
                             std::size_t{kDevices} - (breaks ? 1 : 0)));
  }
  report.Add("probe result of one of 10,000 -> list at the kubelet, p50", EstimateMedian(samples));
  report.Add("probe result of one of 10,000 -> list at the kubelet, max", EstimateMax(samples));
}

void BenchCommandProbes(Report& report) {
  constexpr int kDevices = 100;  // each every six seconds: 1,000 per minute
  DaemonProcess daemon;
  MakeNodes(daemon.host(), 0, kDevices);
  daemon.Start(
      WithHealth("command = [\"/bin/sh\", \"-c\", \"echo $0 works\", \"{path}\"]\n"
                 "period = \"6s\"\n"));
  daemon.AwaitListed(1, kDevices);
  std::this_thread::sleep_for(std::chrono::minutes(1));
  const double before = ResidentMib(daemon);
  std::this_thread::sleep_for(std::chrono::minutes(3));
  report.Add("growth of resident memory by 3,000 command probes", ResidentMib(daemon) - before);
}

}  // namespace

void BenchHealth(Report& report) {
  BenchFileProbes(report);
  BenchCommandProbes(report);
}

}  // namespace patchbay::bench
