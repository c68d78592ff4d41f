#include "bench/measure.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <thread>

#include "base/format.h"

namespace patchbay::bench {

double Ms(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

double Quantile(std::vector<double> samples, double share) {
  std::sort(samples.begin(), samples.end());
  const auto last = static_cast<double>(samples.size() - 1);
  return samples[static_cast<std::size_t>(std::lround(share * last))];
}

Estimate EstimateQuantile(const std::vector<double>& samples, double share) {
  const double range = Quantile(samples, 0.75) - Quantile(samples, 0.25);
  return {Quantile(samples, share), range / Quantile(samples, 0.5)};
}

double ResidentMib(const DaemonProcess& daemon) {
  return static_cast<double>(daemon.ResidentKib()) / 1024;
}

double ResidentMibAtRest(const DaemonProcess& daemon) {
  std::this_thread::sleep_for(std::chrono::seconds(4));
  return ResidentMib(daemon);
}

double CpuMs(const DaemonProcess& daemon) {
  // In nanoseconds, while /proc/PID/stat counts ticks of 10 ms, longer than an idle minute takes.
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(daemon.pid(), &clock) != 0 || clock_gettime(clock, &used) != 0) {
    std::exit(1);
  }
  return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) / 1e6;
}

int ThreadsAtRest(const DaemonProcess& daemon) {
  // Work of the start has ended.
  std::this_thread::sleep_for(std::chrono::seconds(8));
  const std::filesystem::directory_iterator tasks(Format("/proc/{}/task", daemon.pid()));
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

void PinToOneCpu(pid_t pid) {
  cpu_set_t usable, one;
  sched_getaffinity(0, sizeof usable, &usable);
  int first = 0;
  while (!CPU_ISSET(first, &usable)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  for (const auto& task : std::filesystem::directory_iterator(Format("/proc/{}/task", pid))) {
    sched_setaffinity(std::stoi(task.path().filename()), sizeof one, &one);
  }
}

std::string Config(int count) {
  std::string toml;
  for (int i = 0; i < count; ++i) {
    toml += Format(
        "[[resource]]\nname = \"bench.dev/r{0}\"\nforget_after = \"1s\"\n"
        "[[resource.match]]\npath = \"/dev/r{0}/n*\"\n[resource.env]\nNODE = \"{{path}}\"\n",
        i);
  }
  return toml;
}

void MakeNodes(test::TempTree& host, int resource, int count) {
  host.Dir(Format("dev/r{}", resource));
  for (int i = 0; i < count; ++i) host.CharDevice(Format("dev/r{}/n{}", resource, i));
}

}  // namespace patchbay::bench
