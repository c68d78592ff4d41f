#pragma once

#include <cstddef>

#include "deviceplugin.pb.h"
#include "inventory/allocation.h"
#include "inventory/preferred_allocation.h"
#include "model/snapshot.h"

namespace patchbay {

/// The kubelet drops a stream at a message of more than 4 MiB; a list stays well below.
inline constexpr std::size_t kMaxListBytes = 3'670'016;  // 3.5 MiB

/// How many of the units a resource advertises (devices times replicas) fit in one list.
std::size_t UnitsThatFit(const Snapshot& snapshot);

/// The list of a resource, in the order of the snapshot: every unit, or where not all fit those of
/// devices with the lowest rank.
v1beta1::ListAndWatchResponse ListMessage(const Snapshot& snapshot);

PreferenceRequest FromMessage(const v1beta1::ContainerPreferredAllocationRequest& message);

/// Fills the message for one container.
void FillResponse(ContainerResponse response, v1beta1::ContainerAllocateResponse& message);

}  // namespace patchbay
