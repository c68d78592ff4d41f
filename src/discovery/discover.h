#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "discovery/scan_context.h"
#include "model/device_list.h"

namespace patchbay {

/// The result of a scan of the host for one resource.
struct Discovery {
  DeviceList devices;  ///< ordered by IdLess; IDs are unique
  std::vector<Rejection> rejected;
  std::set<std::string> directories;  ///< to watch for changes; host paths without links
  bool complete = true;               ///< whether everything could be read
  bool is_cut = false;  ///< the scan needed more memory than it may use; others may still exist
  /// Why a device that was found is unhealthy, by its ID: its command says so, a node that
  /// containers need is missing, see discovery/extra_nodes.h, or VFIO cannot use it, see
  /// discovery/vfio.h.
  std::map<std::string, std::string, std::less<>> unusable = {};
  /// The interfaces on the host that can move into containers, for later scans.
  std::vector<InterfaceRecord> interfaces = {};
  std::vector<MissingMount> missing_mounts = {};
  std::vector<DeviceNote> notes = {};  ///< see discovery/device_notes.h
  std::vector<UnusedExclude> unused_excludes = {};
  /// For ScanRequest::owned_before of the next scan.
  std::shared_ptr<const OwnedNodes> owned = {};
  std::vector<MatchReport> reports = {};  ///< one for each match, if requested
};

/// Finds the devices of a resource. Reads directories and file metadata, opens no device, and runs
/// the commands of the resource. Can block, so it must not run on the loop.
Discovery Discover(const ResourceSpec& spec, const HostRoot& host, const ScanRequest& request);

/// Scans without the results of a previous scan.
inline Discovery Discover(const ResourceSpec& spec, const HostRoot& host,
                          const std::string& node_name) {
  return Discover(spec, host, ScanRequest{.node_name = node_name});
}

/// The same for a resource with net_device; `read` returns what is known of the interfaces, which
/// is left in the request. An interface can move while the scan looks for it, and is then found
/// neither on the host nor away: if a healthy device of `before` is not healthy any more,
/// everything is read again, once.
Discovery DiscoverInterfaces(const ResourceSpec& spec, const HostRoot& host, ScanRequest& request,
                             const std::function<std::vector<KnownInterface>()>& read);

}  // namespace patchbay
