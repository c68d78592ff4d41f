#pragma once

#include <string>
#include <vector>

#include "support/daemon_process.h"

namespace patchbay::bench {

using test::Clock;
using test::DaemonProcess;

/// The benchmarks. Each prints its lines.
void BenchAllocate();
void BenchHotplugs();
void BenchKubeletRestart();
void BenchStarts();
void BenchManyResources();
void BenchDirectories();
void BenchMemory();
void BenchLargeMemory();
void BenchHealth();
void BenchReload();
void BenchScrape();
void BenchDra();

double Ms(Clock::duration d);
/// Returns the value below which a fraction `share` of the samples lies.
double Quantile(std::vector<double> samples, double share);
/// Prints a figure, its limit `bar`, and their ratio.
void Print(const std::string& what, double value, double bar, const char* unit);

/// Returns a configuration with `count` resources. Each has all nodes of its own directory.
std::string Config(int count);
void MakeNodes(test::TempTree& host, int resource, int count);

}  // namespace patchbay::bench
