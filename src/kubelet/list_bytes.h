#pragma once

#include <string>

#include "model/snapshot.h"

namespace patchbay {

/// Returns the list of a resource as a serialized v1beta1::ListAndWatchResponse, in the order of
/// the snapshot: all units, or if not all fit, those of the devices with the lowest rank. Allocates
/// only the result, where a message would allocate every unit. Pure.
std::string ListBytes(const Snapshot& snapshot);

}  // namespace patchbay
