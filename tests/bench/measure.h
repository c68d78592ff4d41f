#pragma once

#include <string>
#include <vector>

#include "bench/report.h"
#include "support/daemon_process.h"

namespace patchbay::bench {

using test::Clock;
using test::DaemonProcess;

/// The benchmarks. Each adds its figures.
void BenchAllocate(Report& report);
void BenchHotplugs(Report& report);
void BenchKubeletRestart(Report& report);
void BenchStarts(Report& report);
void BenchManyResources(Report& report);
void BenchDirectories(Report& report);
void BenchMemory(Report& report);
void BenchLargeMemory(Report& report);
void BenchHealth(Report& report);
void BenchReload(Report& report);
void BenchScrape(Report& report);
void BenchDra(Report& report);

double Ms(Clock::duration d);
/// Returns the value below which a fraction `share` of the samples lies.
double Quantile(std::vector<double> samples, double share);
/// Returns the same with the spread of the samples.
Estimate EstimateQuantile(const std::vector<double>& samples, double share);
inline Estimate EstimateMedian(const std::vector<double>& samples) {
  return EstimateQuantile(samples, 0.5);
}
inline Estimate EstimateP99(const std::vector<double>& samples) {
  return EstimateQuantile(samples, 0.99);
}
inline Estimate EstimateMax(const std::vector<double>& samples) {
  return EstimateQuantile(samples, 1);
}

double ResidentMib(const DaemonProcess& daemon);
/// Waits until the daemon has returned memory that it needs no more, some seconds after its start.
double ResidentMibAtRest(const DaemonProcess& daemon);
/// Returns the CPU time since the start, of all threads.
double CpuMs(const DaemonProcess& daemon);
int ThreadsAtRest(const DaemonProcess& daemon);

/// Lets all threads of a process run only on the first CPU that this process may use. Otherwise the
/// time of a call depends most on whether client and server happen to share a CPU.
void PinToOneCpu(pid_t pid);

/// Returns a configuration with `count` resources. Each has all nodes of its own directory.
std::string Config(int count);
void MakeNodes(test::TempTree& host, int resource, int count);

}  // namespace patchbay::bench
