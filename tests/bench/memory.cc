#include <thread>

#include "bench/measure.h"

namespace patchbay::bench {

void BenchMemory(Report& report) {
  DaemonProcess daemon;
  for (int i = 0; i < 10; ++i) MakeNodes(daemon.host(), i, 100);
  daemon.Start(Config(10));
  daemon.AwaitListed(10, 100);
  report.Add("resident memory, 10 resources of 100 devices", ResidentMib(daemon));

  constexpr std::chrono::seconds kWindow{60};  // as long as from one scan to the next
  const double before = CpuMs(daemon);
  std::this_thread::sleep_for(kWindow);
  report.Add("idle, percent of a core", (CpuMs(daemon) - before) / Ms(kWindow) * 100);
}

void BenchLargeMemory(Report& report) {
  DaemonProcess daemon;
  MakeNodes(daemon.host(), 0, 10'000);
  daemon.Start(Config(1));
  daemon.AwaitListed(1, 10'000);
  report.Add("resident memory, 10,000 devices", ResidentMib(daemon));
  const auto churn = [&](int cycles) {
    for (int i = 0; i < cycles; ++i) {
      daemon.host().CharDevice("dev/r0/n-churn");
      daemon.AwaitListed(1, 10'001);
      daemon.host().Remove("dev/r0/n-churn");
      daemon.AwaitListed(1, 10'000);
    }
    return ResidentMib(daemon);
  };
  const double warm = churn(5);
  report.Add("resident memory, 10,000 devices, after churn", warm);
  report.Add("growth from 5 to 15 cycles of churn", churn(10) / warm);
}

}  // namespace patchbay::bench
