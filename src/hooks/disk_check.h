#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "hooks/hook.h"
#include "os/host_root.h"

namespace patchbay {

/// Opens the disks of a call for reading and exclusively, without blocking, and closes them again,
/// so that no hook runs for a disk that is in use: mounted, a swap area, part of an array or a
/// volume, or with such a partition. The kernel decides, so nothing can be configured and a mount
/// of another namespace counts as well. A program that uses a disk without opening it exclusively
/// stays unknown. A disk that is busy is tried again for a second.
///
/// A node that is missing, or that this process may not open, is not checked: the hook, which runs
/// with the same permissions, cannot use it either. A path that now leads to another node than the
/// device had is a failure.
///
/// Blocks until a second after `deadline` at most, one minute, or the cancellation, even if opening
/// hangs in the kernel.
HookOutcome CheckDisks(const HookCall& call, const HostRoot& host,
                       std::chrono::steady_clock::time_point deadline,
                       const std::shared_ptr<const Cancellation>& cancellation);

}  // namespace patchbay
