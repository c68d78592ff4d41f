#include <cstdio>
#include <thread>

#include "base/format.h"
#include "bench/measure.h"

namespace patchbay::bench {

void BenchMemory() {
  DaemonProcess daemon;
  for (int i = 0; i < 10; ++i) MakeNodes(daemon.host(), i, 100);
  daemon.Start(Config(10));
  daemon.AwaitListed(10, 100);
  const double before = static_cast<double>(daemon.ResidentKib()) / 1024;
  Print("resident memory, 10 resources of 100 devices", before, 13, "MiB");

  const double cpu = daemon.CpuSeconds();
  std::this_thread::sleep_for(std::chrono::seconds(30));
  Print("idle, percent of a core", (daemon.CpuSeconds() - cpu) / 30 * 100, 0.1, "%");
}

void BenchLargeMemory() {
  DaemonProcess daemon;
  MakeNodes(daemon.host(), 0, 10'000);
  daemon.Start(Config(1));
  daemon.AwaitListed(1, 10'000);
  const auto resident = [&] { return static_cast<double>(daemon.ResidentKib()) / 1024; };
  Print("resident memory, 10,000 devices", resident(), 32, "MiB");
  const auto churn = [&](int cycles) {
    for (int i = 0; i < cycles; ++i) {
      daemon.host().CharDevice("dev/r0/n-churn");
      daemon.AwaitListed(1, 10'001);
      daemon.host().Remove("dev/r0/n-churn");
      daemon.AwaitListed(1, 10'000);
    }
    return resident();
  };
  const double warm = churn(5);
  Print("resident memory, 10,000 devices, after churn", warm, 32, "MiB");
  Print("growth from 5 to 15 cycles of churn", churn(10) / warm, 1.05, "x");
}

}  // namespace patchbay::bench
