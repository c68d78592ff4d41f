#pragma once

#include <atomic>
#include <vector>

#include "metrics/text_format.h"
#include "model/snapshot.h"
#include "status/status_store.h"

namespace patchbay {

/// Makes at each scrape, from the snapshots in the store and from who holds what, the families that
/// speak of devices. Nothing is stored for a single device.
///
/// Thread-safe; no lock is held while families are written. The store outlives it.
class DeviceCollector {
 public:
  DeviceCollector(const StatusStore& store, bool device_metrics)
      : store_(store), device_metrics_(device_metrics) {}

  void SetDeviceMetrics(bool on) { device_metrics_ = on; }

  /// The families as all is now, however late they are written.
  std::vector<TextFamily> Collect() const;

 private:
  const StatusStore& store_;
  std::atomic<bool> device_metrics_;
};

/// How many devices, listed in both snapshots, turned from one health to the other.
struct HealthTransitions {
  int to_healthy = 0;
  int to_unhealthy = 0;
};
HealthTransitions CountTransitions(const Snapshot& before, const Snapshot& after);

}  // namespace patchbay
