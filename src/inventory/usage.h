#pragma once

#include "model/holders.h"
#include "model/spec.h"

namespace patchbay {

/// What of a resource is in use, from who holds its units, by the ID that the kubelet sees. What is
/// no unit of the resource, such as one from before 'replicas' changed, is held all the same and
/// counts as a device of that ID. Pure.
Usage UsageOf(const ResourceSpec& spec, const DeviceHolders& units);

}  // namespace patchbay
