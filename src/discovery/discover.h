#pragma once

#include <set>
#include <string>
#include <vector>

#include "discovery/scan.h"

namespace patchbay {

/// What one pass over the host found for one resource.
struct Discovery {
  std::vector<Device> devices;  ///< in the order of IdLess, IDs unique
  std::vector<Rejection> rejected;
  std::set<std::string> directories;  ///< whose changes may change this; host paths without links
  bool complete = true;               ///< whether everything could be read
};

/// Looks for the devices of a resource. Reads directories and the status of files, opens no device,
/// and may be slow: not for the loop. `node_name` is the Kubernetes node's, for `id` templates.
Discovery Discover(const ResourceSpec& spec, const HostRoot& host, const std::string& node_name);

}  // namespace patchbay
