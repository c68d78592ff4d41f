#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "model/spec.h"
#include "sim/try/dra_cluster.h"

namespace patchbay {

/// Prints the slices of each resource, allocates a claim for one device of each, has it prepared,
/// prints what its container gets, and has it unprepared. Returns whether all of it succeeded. A
/// resource without devices is not a failure. `why_not_served` returns the reason for a resource
/// that is not published, to follow its name. Blocks until the daemon has answered or the cluster
/// is stopped.
bool ReportDra(DraCluster& cluster, const Model& model, const std::vector<std::string>& resources,
               const std::function<std::string(const std::string& resource)>& why_not_served,
               Streams streams);

}  // namespace patchbay
