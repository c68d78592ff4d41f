#pragma once

#include "model/pod_usage.h"
#include "model/snapshot.h"

namespace patchbay {

/// Returns the devices of a resource that are in use, from the holders of its units by advertised
/// ID. A unit from before `replicas` changed counts for its device, if that is among the `known`
/// ones (may be null). Any other ID counts as a device of that ID. Pure.
PodUsage PodUsageOf(const ResourceSpec& spec, const DeviceHolders& units,
                    const Snapshot* known = nullptr);

}  // namespace patchbay
