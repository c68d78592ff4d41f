#pragma once

#include <sys/types.h>

#include <cstddef>

namespace patchbay {

/// Opens /dev/null for each of stdin, stdout and stderr that is closed, so that no other file gets
/// its number and is overwritten by accident. Reading from such a stdin fails. Call it before any
/// other descriptor is opened.
void OpenStandardDescriptors();

/// Upper bound of the descriptor limit. No process needs more, and some programs iterate over all
/// descriptors that they may have.
inline constexpr std::size_t kMaxDescriptors = std::size_t{1} << 20;

/// Returns the number of descriptors that this process can have open: its soft limit, at most
/// kMaxDescriptors.
std::size_t DescriptorLimit();

/// Raises the soft limit to the hard limit, at most to kMaxDescriptors. Never lowers it. Call it
/// before threads are started. Returns the resulting limit.
std::size_t RaiseDescriptorLimit();

/// Sets the soft limit of this process, a child between fork and exec, to the limit from before
/// RaiseDescriptorLimit, because programs that use select(2) do not work above 1,024 descriptors.
/// Makes only a system call.
void RestoreDescriptorLimit();

}  // namespace patchbay
