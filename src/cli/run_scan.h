#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "discovery/scan_request.h"
#include "model/snapshot.h"

namespace patchbay {

/// The result of one scan for one resource, as the first scan of the daemon would have it.
struct Inspection {
  std::shared_ptr<const Snapshot> snapshot;
  std::vector<MatchReport> reports;  ///< one for each match if a report was requested
};

/// The scope of RunScan.
struct InspectOptions {
  std::string node_name;      ///< of the Kubernetes node
  std::string resource = {};  ///< only this one; empty for all
  bool report = false;
  std::vector<std::string> wanted = {};  ///< see ScanRequest
};

/// Fails if the model does not have the resource. The error suggests a similar name or lists the
/// resources.
Status CheckResourceName(const Model& model, const std::string& resource);

/// Fails as CheckResourceName does, or if the resource is not for this node.
Status CheckResource(const Model& model, const std::string& resource, const std::string& node_name);

/// Returns a line with the reason for each resource of the model that is not for this node.
std::string LeftOutText(const Model& model, const std::string& node_name);

/// Scans this host for the resources that are for this node, in the order of the file. Needs no
/// kubelet. Fails as CheckResource does. May block.
Result<std::vector<Inspection>> RunScan(const Model& model, const InspectOptions& options);

/// Returns why the first unhealthy device of a resource cannot be allocated: `the device "a" is
/// unhealthy: …`. Empty if all devices are healthy.
std::string WhyUnhealthy(const Snapshot& snapshot);

/// Returns the notes on the devices with these advertised IDs, or on all if there are none: a line
/// for each.
std::string NotesText(const Snapshot& snapshot, const std::vector<std::string>& ids);

/// Returns the advertised IDs of the first `count` healthy units of a resource, or of all healthy
/// units if there are fewer. As in a claim, each is of another device if DRA serves the resource.
std::vector<std::string> HealthyUnits(const Snapshot& snapshot, std::size_t count);

}  // namespace patchbay
