#pragma once

#include <sys/types.h>

#include <cstddef>

namespace patchbay {

/// Opens /dev/null for each of stdin, stdout and stderr that is closed, so that no other file gets
/// its number and is written to by mistake. Call it before anything else opens a descriptor.
void OpenStandardDescriptors();

/// No process needs more, and some programs loop over all that they may have.
inline constexpr std::size_t kMaxDescriptors = std::size_t{1} << 20;

/// How many descriptors this process may have open: its soft limit.
std::size_t DescriptorLimit();

/// Raises the soft limit to the hard one, at most to kMaxDescriptors. Never lowers it. Call it
/// before there are threads. Returns the limit in force.
std::size_t RaiseDescriptorLimit();

/// Gives a child that has just been started the soft limit from before RaiseDescriptorLimit:
/// programs that use select(2) do not work beyond 1,024.
void RestoreDescriptorLimit(pid_t child);

}  // namespace patchbay
