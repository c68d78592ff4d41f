#pragma once

#include <string>
#include <vector>

#include "support/daemon_process.h"

namespace patchbay::bench {

using test::Clock;
using test::DaemonProcess;

/// The measures, each of which prints its lines.
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

double Ms(Clock::duration d);
/// The value below which `share` of the samples lie.
double Quantile(std::vector<double> samples, double share);
/// A figure, the bar it is held to, and their ratio.
void Print(const std::string& what, double value, double bar, const char* unit);

/// `count` resources, each with all nodes of a directory of its own.
std::string Config(int count);
void MakeNodes(test::TempTree& host, int resource, int count);

}  // namespace patchbay::bench
