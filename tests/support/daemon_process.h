#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "sim/kubelet/kubelet_sim.h"
#include "support/temp_tree.h"

namespace patchbay::test {

using Clock = std::chrono::steady_clock;

/// A host tree, a built-in kubelet and the real daemon in a separate process.
class DaemonProcess {
 public:
  /// Creates the tree and starts the kubelet; the caller adds device nodes and the configuration.
  explicit DaemonProcess(KubeletSimOptions kubelet = {});
  ~DaemonProcess();

  TempTree& host() { return host_; }
  /// The kubelet's PodResources socket.
  std::string pod_resources() const { return run_.path("pod-resources/kubelet.sock"); }
  KubeletSim& kubelet() { return *kubelet_; }
  /// The directory that stands for /var/lib/kubelet.
  std::string kubelet_root() const { return run_.path(); }

  /// Runs the daemon on these resources, with further lines for [daemon]. Returns the time before
  /// the process was created.
  Clock::time_point Start(const std::string& resources, const std::string& daemon_keys = "");
  /// The same with a configuration file of the caller. If `log` is a descriptor, it becomes stderr,
  /// and the caller copies its output to log_path().
  Clock::time_point Run(const std::string& config, int log = -1);
  /// Stops it and returns its wait status; 0 if it does not run.
  int Stop();
  /// Hands the running process over to the caller, who can then start another one. Both
  /// write to the same log.
  pid_t Release() { return std::exchange(pid_, -1); }
  pid_t pid() const { return pid_; }
  std::string log_path() const { return run_.path("log"); }
  /// Returns its log since Start; for failure messages, only the end.
  std::string Log() const;
  std::string LogTail() const;

  /// Waits until `resources` resources, named bench.dev/r0 and so on, have listed `devices` devices
  /// each; exits the program after a minute.
  void AwaitListed(int resources, std::size_t devices);

  /// Resident memory in KiB, now and at most so far, and CPU time in seconds.
  long ResidentKib() const { return StatusKib("VmRSS:"); }
  long PeakKib() const { return StatusKib("VmHWM:"); }
  double CpuSeconds() const;
  /// Waits for the log line with the HTTP address and returns it.
  int Port() const;
  /// Sends one GET; returns its duration, including the connection, and the response.
  struct Scrape {
    Clock::duration took;
    std::string text;

    /// Returns the value of a series, as "name{labels}"; NaN if there is none.
    double operator[](const std::string& series) const;
  };
  Scrape GetMetrics() const { return GetMetrics(Port()); }
  /// With `compressed`, requests gzip, as Prometheus does; `text` is the compressed response.
  static Scrape GetMetrics(int port, bool compressed = false) {
    return Get("/metrics", port, compressed);
  }
  static Scrape Get(std::string_view path, int port, bool compressed = false);

 private:
  long StatusKib(std::string_view field) const;

  TempTree host_;
  TempTree run_;
  std::unique_ptr<KubeletSim> kubelet_;
  pid_t pid_ = -1;
};

}  // namespace patchbay::test
