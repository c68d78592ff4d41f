#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "kubelet_sim/kubelet_sim.h"
#include "support/temp_tree.h"

namespace patchbay::test {

using Clock = std::chrono::steady_clock;

/// A host tree, a built-in kubelet and the real daemon in a process of its own.
class DaemonProcess {
 public:
  /// Makes the tree and starts the kubelet; the nodes and the file are up to the caller.
  explicit DaemonProcess(KubeletSimOptions kubelet = {});
  ~DaemonProcess();

  TempTree& host() { return host_; }
  /// The kubelet's socket that says which pods hold which devices.
  std::string pod_resources() const { return run_.path("pod-resources/kubelet.sock"); }
  KubeletSim& kubelet() { return *kubelet_; }

  /// Runs the daemon on these resources, with more lines for [daemon]. Returns the moment before
  /// the process was made.
  Clock::time_point Start(const std::string& resources, const std::string& daemon_keys = "");
  /// The same with a configuration that the caller wrote: "--config `config`". With `log`, a
  /// descriptor, that is its stderr, and what it writes there must get into log_path().
  Clock::time_point Run(const std::string& config, int log = -1);
  /// Asks it to end and returns its wait status; 0 where it does not run, too.
  int Stop();
  pid_t pid() const { return pid_; }
  std::string log_path() const { return run_.path("log"); }
  /// All that it has logged since Start, and the end of it that is worth showing when a test fails.
  std::string Log() const;
  std::string LogTail() const;

  /// Waits until `resources` resources, named bench.dev/r0 and up, have listed `devices` devices
  /// each; ends the program when they do not within a minute.
  void AwaitListed(int resources, std::size_t devices);

  /// Of the process, in KiB and in seconds of processor time.
  long ResidentKib() const;
  double CpuSeconds() const;
  /// Where HTTP is served, once that was logged.
  int Port() const;
  /// One GET: the time it took, connection included, and the whole answer.
  struct Scrape {
    Clock::duration took;
    std::string text;

    /// The value of a series, as "name{labels}"; not a number where there is none.
    double operator[](const std::string& series) const;
  };
  Scrape GetMetrics() const { return GetMetrics(Port()); }
  /// With `compressed`, `text` is the response as it came, in gzip, as Prometheus asks for it.
  static Scrape GetMetrics(int port, bool compressed = false) {
    return Get("/metrics", port, compressed);
  }
  static Scrape Get(std::string_view path, int port, bool compressed = false);

 private:
  TempTree host_;
  TempTree run_;
  std::unique_ptr<KubeletSim> kubelet_;
  pid_t pid_ = -1;
};

}  // namespace patchbay::test
