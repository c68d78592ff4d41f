#pragma once

#include "model/holders.h"
#include "model/snapshot.h"

namespace patchbay {

/// What of a resource is in use, from who holds its units, by the ID that the kubelet sees. A unit
/// from before `replicas` changed is of the same device still, as far as that is among the `known`
/// ones (null: none are). What is no unit of the resource is held all the same, and counts as a
/// device of that ID. Pure.
Usage UsageOf(const ResourceSpec& spec, const DeviceHolders& units,
              const Snapshot* known = nullptr);

}  // namespace patchbay
