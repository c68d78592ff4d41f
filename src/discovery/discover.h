#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "discovery/scan_context.h"

namespace patchbay {

/// What one scan over the host found for one resource.
struct Discovery {
  std::vector<Device> devices;  ///< in the order of IdLess, IDs unique
  std::vector<Rejection> rejected;
  std::set<std::string> directories;  ///< whose changes may change this; host paths without links
  bool complete = true;               ///< whether everything could be read
  /// By the ID of a device, why a device node is not there that its containers need; see
  /// discovery/extra_nodes.h.
  std::map<std::string, std::string, std::less<>> missing_nodes = {};
  std::vector<MissingMount> missing_mounts = {};
  /// For ScanRequest::owned_before of the next scan.
  std::shared_ptr<const OwnedNodes> owned = {};
  std::vector<MatchReport> reports = {};  ///< one for each match, where the scan asks for them
};

/// Looks for the devices of a resource. Reads directories and the status of files, opens no device,
/// runs the commands of the resource, and may be slow: not for the loop.
Discovery Discover(const ResourceSpec& spec, const HostRoot& host, const ScanRequest& request);

/// A scan that knows of no other.
inline Discovery Discover(const ResourceSpec& spec, const HostRoot& host,
                          const std::string& node_name) {
  return Discover(spec, host, ScanRequest{.node_name = node_name});
}

}  // namespace patchbay
