#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "model/spec.h"
#include "sim/kubelet/kubelet_sim.h"

namespace patchbay {

/// Returns whether the kubelet has the list of devices of a resource.
bool IsListed(const KubeletSim& kubelet, const std::string& resource);

/// Prints the state of the kubelet, allocates one device of each resource, and starts the container
/// that has them. Returns whether all of it succeeded. A resource without devices is not a failure.
/// Blocks until the daemon has answered or the kubelet is stopped.
bool ReportPlugins(KubeletSim& kubelet, const Model& model,
                   const std::vector<std::string>& resources, Streams streams);

}  // namespace patchbay
