#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/snapshot.h"
#include "model/spec.h"

namespace patchbay {

/// What the daemon's first look at this host would find, for every resource that is for this node,
/// in the order of the file. Needs no kubelet.
std::vector<std::shared_ptr<const Snapshot>> InspectHost(const Model& model,
                                                         const std::string& node_name);

/// The first `count` healthy units of a resource, by the IDs the kubelet would see. Fewer where
/// there are not as many.
std::vector<std::string> HealthyUnits(const Snapshot& snapshot, std::size_t count);

}  // namespace patchbay
