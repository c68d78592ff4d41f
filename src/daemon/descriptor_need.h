#pragma once

#include <cstddef>

#include "base/result.h"
#include "model/spec.h"

namespace patchbay {

/// Descriptors for everything but resources and probes: loop, HTTP and its connections, scans.
inline constexpr std::size_t kBaseDescriptors = 128;
/// For one resource: its socket, the kubelet's connections to it, calls to the kubelet.
inline constexpr std::size_t kDescriptorsPerResource = 5;
/// For one program of a probe that runs: its two pipes and the process.
inline constexpr std::size_t kDescriptorsPerProbe = 3;

/// How many descriptors the daemon needs for `resources` resources.
std::size_t DescriptorsNeeded(std::size_t resources, const DaemonSpec& daemon);

/// Fails, with what to do about it, where that is more than `limit`.
Status CheckDescriptors(std::size_t resources, const DaemonSpec& daemon, std::size_t limit);

}  // namespace patchbay
