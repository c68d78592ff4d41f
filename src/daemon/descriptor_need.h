#pragma once

#include <cstddef>

#include "base/result.h"
#include "model/spec.h"

namespace patchbay {

/// Descriptors for everything except resources and probes: loop, HTTP connections, scans.
inline constexpr std::size_t kBaseDescriptors = 128;
/// For one resource: its socket, the kubelet's connections to it, calls to the kubelet.
inline constexpr std::size_t kDescriptorsPerResource = 5;
/// For one running program of a probe: two pipes and the process.
inline constexpr std::size_t kDescriptorsPerProbe = 3;

/// Returns the number of descriptors that the daemon needs for `resources` resources.
std::size_t DescriptorsNeeded(std::size_t resources, const DaemonSpec& daemon);

/// Fails if that is more than `limit`; the message describes the fix.
Status CheckDescriptors(std::size_t resources, const DaemonSpec& daemon, std::size_t limit);

}  // namespace patchbay
