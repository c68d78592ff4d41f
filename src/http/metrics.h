#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "inventory/observer.h"

namespace patchbay {

/// All metrics of the process: counts what the observers are told and renders it for Prometheus.
///
/// Thread-safe. The observers may outlive it.
class Metrics {
 public:
  struct Options {
    std::string version;
    std::string revision;
    bool device_metrics = true;  ///< patchbay_device_info and patchbay_device_healthy
    std::function<std::chrono::system_clock::time_point()> now = std::chrono::system_clock::now;
  };

  explicit Metrics(Options options);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  /// An observer for one resource. Its series exist from now on, at zero, and go with the observer.
  /// Observers of one name that live at the same time share their series, so that the counters of a
  /// resource go on when it is replaced.
  std::shared_ptr<ResourceObserver> AddResource(const std::string& name);

  /// Whether the kubelet's socket is there and answers.
  void SetKubeletUp(bool up);
  /// The kubelet came back: its socket was made anew.
  void KubeletRestarted();
  /// Whether the kubelet says which pods hold which devices; no series before the first call.
  void SetPodResourcesUp(bool up);
  /// The configuration was loaded at `when`, at start or later, or it was refused.
  void ConfigLoaded(bool ok, std::chrono::system_clock::time_point when);
  /// Turns the series of single devices on or off, from the next scrape on.
  void SetDeviceMetrics(bool on);

  /// Everything in Prometheus' text format 0.0.4, ordered by family and labels. Linear in the
  /// number of devices.
  std::string Text() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace patchbay
