#pragma once

#include <limits>
#include <string_view>

namespace patchbay::bench {

/// A figure of a benchmark, and its bar: the value that it must not exceed. Most bars are far
/// enough above what a quiet machine needs that only a change of the program exceeds them.
struct Figure {
  std::string_view name;
  std::string_view unit;
  double bar;
};

/// The bar of figures that only explain others.
constexpr double kNoBar = std::numeric_limits<double>::infinity();

/// Every figure that can be printed, by benchmark.
inline constexpr Figure kFigures[] = {
    // allocate
    {"empty call, p50", "ms", kNoBar},
    {"empty call, p99", "ms", kNoBar},
    {"Allocate, p50", "ms", kNoBar},
    {"Allocate, p99", "ms", kNoBar},
    {"Allocate / empty call, p50", "x", 1.06},
    {"Allocate / empty call, p99", "x", 1.3},
    {"bare completion queue: Allocate / empty call, p50", "x", kNoBar},
    {"bare completion queue with a lookup: Allocate / empty call, p50", "x", kNoBar},
    {"Allocate / bare callback server, p50", "x", 1.03},
    {"Allocate / bare synchronous server, p50", "x", kNoBar},
    {"Allocate / bare completion queue, p50", "x", kNoBar},
    {"first Allocate / that of the bare callback server, p50", "x", kNoBar},
    {"16 Allocates at once while devices change, p50", "ms", 10},
    {"16 Allocates at once while devices change, p99", "ms", 10},
    // hotplug
    {"node created -> list at the kubelet, 10 nodes there, p50", "ms", 10},
    {"node created -> list at the kubelet, 10 nodes there, p99", "ms", 10},
    {"node created -> list at the kubelet, 10,000 nodes there, p50", "ms", 10},
    {"node created -> list at the kubelet, 10,000 nodes there, p99", "ms", 10},
    // restart
    {"kubelet.sock re-created -> ten resources listed, p50", "ms", 60},
    {"kubelet.sock re-created -> ten resources listed, max", "ms", 60},
    // start
    {"process start -> first list of 1,000 nodes, p50", "ms", 12},
    {"process start -> first list of 10,000 nodes, p50", "ms", 25},
    {"bare plugin: process start -> first list of 1,000 nodes, p50", "ms", kNoBar},
    {"bare plugin: process start -> first list of 10,000 nodes, p50", "ms", kNoBar},
    {"cost of 10,000 nodes / ten times that of 1,000", "x", 1},
    // resources
    {"threads at rest, 10 resources", "", 16},
    {"threads at rest, 128 resources", "", 16},
    {"process start -> 128 resources registered", "ms", 1000},
    {"CPU time of the daemon until then", "ms", 1000},
    {"resident memory, 128 resources", "MiB", 40},
    {"resident memory, per additional resource", "KiB", 90},
    {"kubelet.sock re-created -> 128 resources listed", "ms", 1000},
    {"SIGTERM -> end, 128 resources", "ms", 1000},
    // directories
    {"process start -> first list, 10,000 nodes in 10 directories", "ms", 300},
    {"one more node -> list, 10,000 nodes in 10 directories, p50", "ms", 10},
    {"one more node -> list, 10,000 nodes in 10 directories, p99", "ms", 10},
    {"bare plugin: one more device -> list of 10,000, p50", "ms", kNoBar},
    {"bare plugin: one more device -> list of 10,000, p99", "ms", kNoBar},
    {"resident memory, 10,000 devices in 10 directories", "MiB", 16},
    // memory
    {"resident memory, 10 resources of 100 devices", "MiB", 13},
    {"idle, percent of a core", "%", 0.05},
    // memory-10k
    {"resident memory, 10,000 devices", "MiB", 16},
    {"resident memory, 10,000 devices, after churn", "MiB", 16},
    {"growth from 5 to 15 cycles of churn", "x", 1.05},
    // health
    {"10,000 file probes every 10 s, percent of a core", "%", 10},
    {"probe result of one of 10,000 -> list at the kubelet, p50", "ms", 15},
    {"probe result of one of 10,000 -> list at the kubelet, max", "ms", 15},
    {"growth of resident memory by 3,000 command probes", "MiB", 1},
    // reload
    {"Allocates per second during reloads, none failed", "", kNoBar},
    {"one of fifty resources edited -> list at the kubelet, p50", "ms", 300},
    {"one of fifty resources edited -> list at the kubelet, max", "ms", 300},
    // scrape
    {"size of a scrape of 1,000 devices", "KiB", kNoBar},
    {"size of a scrape of 1,000 devices, compressed", "KiB", kNoBar},
    {"scrape of 1,000 devices, made for it, p50", "ms", 10},
    {"scrape of 1,000 devices, made for it, p99", "ms", 10},
    {"memory after 2,200 scrapes / after 200", "x", 1.05},
    {"time between scrapes during Allocate", "ms", 105},
    {"Allocate at 10 scrapes a second / alone, p50", "x", 1.2},
    {"Allocate at 10 scrapes a second / alone, p99", "x", 1.2},
    {"memory after compressed scrapes / before", "x", 1.05},
    // dra
    {"NodePrepareResources, one device, p50", "ms", 6},
    {"NodePrepareResources, one device, p99", "ms", 25},
    {"NodeUnprepareResources, one device, p50", "ms", 6},
    {"requests for the claim, per prepared claim", "", 1},
    {"CDI files, per prepared claim", "", 1},
    {"node created -> slice at the API server, p50", "ms", 50},
    {"node created -> slice at the API server, p99", "ms", 50},
    {"writes of a slice per second while devices appear", "", 1},
    {"process start -> 10,000 devices published", "ms", 3000},
    {"resident memory, 10,000 published devices", "MiB", 64},
    {"writes: restart and one more device, with the dry run", "", 2},
    {"resident memory, 1,000 devices, api = \"dra\"", "MiB", 20},
    {"the same, more than with api = \"device-plugin\"", "MiB", 4},
};

/// The name of a figure. A name that is not in kFigures does not compile.
class FigureName {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): the literal is the name.
  consteval FigureName(const char* name) : figure_(Find(name)) {}

  const Figure& figure() const { return figure_; }

 private:
  static consteval const Figure& Find(std::string_view name) {
    for (const Figure& figure : kFigures) {
      if (figure.name == name) return figure;
    }
    throw "not in kFigures";
  }

  const Figure& figure_;
};

}  // namespace patchbay::bench
