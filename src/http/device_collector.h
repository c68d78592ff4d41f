#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "model/holders.h"
#include "model/snapshot.h"

namespace patchbay {

/// Keeps the newest snapshot of every resource, and who holds its devices, and makes from them, at
/// each scrape, the families that speak of devices. Nothing is stored for a single device.
///
/// Thread-safe; no lock is held while families are made.
class DeviceCollector : public prometheus::Collectable {
 public:
  explicit DeviceCollector(bool device_metrics) : device_metrics_(device_metrics) {}

  /// The families of `resource` exist from now on, at zero.
  void Add(const std::string& resource);
  void Remove(const std::string& resource);
  /// Replaces the snapshot of an added resource; returns the one before, null for the first.
  std::shared_ptr<const Snapshot> Exchange(const std::string& resource,
                                           std::shared_ptr<const Snapshot> snapshot);
  /// What of an added resource is in use, as far as is known.
  void SetUsage(const std::string& resource, std::shared_ptr<const Usage> usage);
  void SetDeviceMetrics(bool on) { device_metrics_ = on; }

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  /// Null where nothing is known yet.
  struct Newest {
    std::shared_ptr<const Snapshot> snapshot;
    std::shared_ptr<const Usage> usage;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Newest> newest_;
  std::atomic<bool> device_metrics_;
};

/// How many devices, listed in both snapshots, turned from one health to the other.
struct HealthTransitions {
  int to_healthy = 0;
  int to_unhealthy = 0;
};
HealthTransitions CountTransitions(const Snapshot& before, const Snapshot& after);

}  // namespace patchbay
