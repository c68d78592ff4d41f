#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "metrics/dra_metrics.h"
#include "metrics/process_families.h"
#include "status/node_status.h"
#include "status/observer.h"

namespace patchbay {

/// The metrics of the process and its current status. Counts the events that the observers report,
/// renders the metrics for Prometheus, and keeps the status for the page.
///
/// Thread-safe. The observers may outlive it.
class Metrics {
 public:
  struct Options {
    std::string version;
    std::string revision;
    std::string node_name = {};  ///< of the Kubernetes node
    std::string config = {};     ///< where the configuration is read from
    std::function<std::uint64_t()> log_lines_dropped = [] { return std::uint64_t{0}; };
    std::string kubelet_socket = {};  ///< where the kubelet is expected
    bool device_metrics = true;       ///< patchbay_device_info and patchbay_device_healthy
    std::function<std::chrono::system_clock::time_point()> now = std::chrono::system_clock::now;
  };

  explicit Metrics(Options options);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  /// Returns an observer for one resource. Its time series exist from now on, starting at zero,
  /// until the observer is destroyed. Observers of one name that exist at the same time share their
  /// series, so that counters continue when a resource is replaced. Destroying the last observer of
  /// a name takes milliseconds if there are many resources.
  std::shared_ptr<ResourceObserver> AddResource(const std::string& name);

  /// Returns the metrics of Dynamic Resource Allocation. Their series exist until the object is
  /// destroyed. At most one object may exist.
  std::shared_ptr<DraMetrics> AddDra();

  /// Sets whether the kubelet's socket exists and responds.
  void SetKubeletUp(bool up);
  /// Counts a restart of the kubelet: its socket was re-created.
  void CountKubeletRestart();
  /// Adds the series about the PodResources API, which is in use from now on.
  void EnablePodResources();
  /// Sets whether the PodResources API responds.
  void SetPodResourcesUp(bool up);
  /// Replaces the status of Dynamic Resource Allocation, which is in use from now on.
  void SetDra(std::shared_ptr<const DraStatus> dra);
  /// Replaces the resources that are not for this node.
  void SetHiddenResources(HiddenResources hidden);
  /// Records the result of reading the configuration, at start or later.
  void SetConfigReading(ConfigReading reading);
  /// Enables or disables the series of single devices from the next scrape on.
  void SetDeviceMetrics(bool on);

  /// Returns all metrics in Prometheus text format 0.0.4; the series of a family are sorted by
  /// their labels. Takes milliseconds per thousand devices, so it must not run where others wait.
  std::string Text() const;
  /// Returns the current status. Never blocks; the cost does not depend on the number of devices.
  NodeStatus Now() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace patchbay
