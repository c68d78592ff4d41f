#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "http/node_status.h"
#include "http/process_collector.h"
#include "inventory/observer.h"

namespace patchbay {

/// All metrics of the process, and how it is: counts what the observers are told and renders it for
/// Prometheus, and keeps what is so now for the page.
///
/// Thread-safe. The observers may outlive it.
class Metrics {
 public:
  struct Options {
    std::string version;
    std::string revision;
    std::string node_name = {};  ///< of the Kubernetes node
    std::string config = {};     ///< where the configuration is read from
    ProcessCounts counts = {};
    bool device_metrics = true;  ///< patchbay_device_info and patchbay_device_healthy
    std::function<std::chrono::system_clock::time_point()> now = std::chrono::system_clock::now;
  };

  explicit Metrics(Options options);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  /// An observer for one resource. Its series exist from now on, at zero, and go with the observer.
  /// Observers of one name that live at the same time share their series, so that the counters of a
  /// resource go on when it is replaced. The end of the last observer of a name takes milliseconds
  /// where there are many resources.
  std::shared_ptr<ResourceObserver> AddResource(const std::string& name);

  /// Whether the kubelet's socket is there and answers.
  void SetKubeletUp(bool up);
  /// The kubelet came back: its socket was made anew.
  void KubeletRestarted();
  /// The kubelet will be asked which pods hold which devices: from now on there is a series.
  void ExpectPodResources();
  /// Whether the kubelet says which pods hold which devices.
  void SetPodResourcesUp(bool up);
  /// The configuration was read, at start or later.
  void ConfigRead(ConfigReading reading);
  /// Turns the series of single devices on or off, from the next scrape on.
  void SetDeviceMetrics(bool on);

  /// The process ends: from now on the series of a resource stay when its observer goes.
  void BeginEnd();

  /// Everything in Prometheus' text format 0.0.4, ordered by family, each by resource. Linear
  /// in the number of devices.
  std::string Text() const;
  /// How all is now. Never waits, and costs the same for any number of devices.
  NodeStatus Now() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace patchbay
