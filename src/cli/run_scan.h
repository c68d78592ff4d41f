#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "discovery/scan_request.h"
#include "model/snapshot.h"

namespace patchbay {

/// What the daemon's first look at this host would find of one resource, and how it came about.
struct Inspection {
  std::shared_ptr<const Snapshot> snapshot;
  std::vector<MatchReport> reports;  ///< one for each match, where asked for
  /// What to do about places that cannot be looked at, are empty, or are not there, by their names;
  /// by place, slash and pattern the names that a pattern may be meant for.
  std::map<std::string, std::string> hints = {};
};

/// What to look at.
struct InspectOptions {
  std::string node_name;      ///< of the Kubernetes node
  std::string resource = {};  ///< only this one; empty for all
  bool report = false;
  std::string path = {};  ///< what a report must tell of
};

/// Fails for a resource that the model does not have or that is not for the node, and says which
/// there are.
Status CheckResource(const Model& model, const std::string& resource, const std::string& node_name);

/// A line for each resource of the model that is not for the node, and why.
std::string LeftOutText(const Model& model, const std::string& node_name);

/// Looks at this host for the resources that are for this node, in the order of the file. Needs no
/// kubelet. Fails as CheckResource does.
Result<std::vector<Inspection>> RunScan(const Model& model, const InspectOptions& options);

/// Why the first unhealthy device of a resource cannot be given out: `the device "a" is unhealthy:
/// …`. Empty where all are healthy.
std::string WhyUnhealthy(const Snapshot& snapshot);

/// The first `count` healthy units of a resource, by the IDs the kubelet would see. Fewer where
/// there are not as many.
std::vector<std::string> HealthyUnits(const Snapshot& snapshot, std::size_t count);

}  // namespace patchbay
