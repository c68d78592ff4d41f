#pragma once

#include <cstddef>

#include "deviceplugin.pb.h"
#include "inventory/allocation.h"
#include "inventory/preferred_allocation.h"
#include "model/snapshot.h"

namespace patchbay {

/// The maximum size of a device list. The kubelet ends a stream at a message larger than 4 MiB.
inline constexpr std::size_t kMaxListBytes = 3'670'016;  // 3.5 MiB

/// Returns the list of a resource in the order of the snapshot: all units, or if not all fit, those
/// of the devices with the lowest rank.
v1beta1::ListAndWatchResponse ListMessage(const Snapshot& snapshot);
/// Returns how many units of a resource (devices times replicas) fit into one list.
std::size_t UnitsThatFit(const Snapshot& snapshot);

PreferenceRequest FromMessage(const v1beta1::ContainerPreferredAllocationRequest& message);

/// Fills the message for one container.
void FillResponse(ContainerResponse response, v1beta1::ContainerAllocateResponse& message);

}  // namespace patchbay
