#pragma once

#include <prometheus/metric_family.h>

#include <functional>

#include "status/status_store.h"

namespace patchbay {

/// Computes the metric families about devices from the current snapshots and their usage, and
/// passes them to `emit` one after another, so that only one is in memory at a time. Families with
/// one series per device are left out unless `each_device`.
///
/// Values are read once, so all families describe the same moment. Any thread.
void CollectDeviceFamilies(const ResourceStatuses& resources, bool each_device,
                           const std::function<void(prometheus::MetricFamily)>& emit);

}  // namespace patchbay
