#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "model/spec.h"
#include "sim/cluster/cluster_sim.h"

namespace patchbay {

/// Waits until the kubelet has registered the driver and the pool of each resource is complete,
/// `is_cancelled` returns true, or `timeout` has passed for one of the two.
void AwaitPublished(ClusterSim& cluster, const std::vector<std::string>& resources,
                    const std::function<bool()>& is_cancelled, std::chrono::milliseconds timeout);

/// Prints the slices of each resource, allocates a claim for one device of each, has it prepared,
/// prints what its container gets, and has it unprepared. Each claim and its pod have the name of
/// the class. Returns whether all of it succeeded. A resource without devices is not a failure.
/// `why_not_served` returns the reason for a resource that is not published, to follow its name.
/// Blocks until the daemon has answered or the cluster is stopped.
bool ReportDra(ClusterSim& cluster, const Model& model, const std::vector<std::string>& resources,
               const std::function<std::string(const std::string& resource)>& why_not_served,
               Streams streams);

}  // namespace patchbay
