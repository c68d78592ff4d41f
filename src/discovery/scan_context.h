#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/path.h"
#include "base/result.h"
#include "discovery/candidate.h"
#include "discovery/conditions.h"
#include "discovery/device_ancestry.h"
#include "discovery/exclusion.h"
#include "discovery/network_use.h"
#include "discovery/scan_report.h"
#include "discovery/scan_request.h"
#include "model/snapshot.h"
#include "os/host_root.h"

namespace patchbay {

/// The state of one scan of the host for one resource. The sources add candidates and rejections,
/// see discovery/sources.h. Belongs to one thread; calls may block.
class ScanContext {
 public:
  /// The maximum number of rejections of one resource.
  static constexpr std::size_t kMaxRejections = 1'000;

  /// Both must outlive the object.
  ScanContext(const HostRoot& host, const ScanRequest& request)
      : host_(host),
        request_(request),
        report_(request),
        sysfs_(
            host,
            [this](const std::string& place, const Error& error) {
              report_.AddPlace({.place = place, .problem = error.message});
            },
            RecordsOf(request.interfaces)),
        ancestries_(sysfs_) {
    request.cache->share.Begin(request.budget);
  }
  ~ScanContext() { request_.cache->share.Trim(); }
  ScanContext(const ScanContext&) = delete;
  ScanContext& operator=(const ScanContext&) = delete;

  /// The next calls are about this match. Resolves its `exclude`, and watches udev's database if
  /// the match or the API, for attributes, needs values from sysfs.
  void BeginMatch(const MatchSpec& match, std::size_t index, Api api = Api::kDevicePlugin,
                  bool moves_interfaces = false);

  /// Call it when the source of the match has run: reports globs of `exclude` that exclude nothing.
  void EndMatch();
  /// Call it at the end of a source: reports why the match does not select the object of
  /// ScanRequest::wanted, in case nothing else in the report is about it; no reason means that it
  /// does. Gives another reason if the object does not exist or cannot be read, and none if the
  /// match could not read everything.
  void ReportUnmatched(std::optional<std::string> why);
  /// Does so for a source whose pattern matches paths.
  void ReportUnmatchedPath(const std::function<bool(const std::string& path)>& matches);
  /// Those of all matches so far, in their order.
  std::vector<UnusedExclude>& unused_excludes() { return unused_excludes_; }

  /// Returns the entries of a directory whose names are `wanted`, ordered by IdLess, and watches
  /// it. If it does not exist, returns none and watches the nearest existing ancestor. Reports a
  /// directory that cannot be read, or for which the budget has no memory. `pattern` describes
  /// `wanted` in the report.
  std::vector<HostEntry> List(const std::string& directory, const std::string& pattern,
                              const std::function<bool(const std::string&)>& wanted);
  /// Returns whether `path` is a directory, following links. Watches it, or the nearest existing
  /// ancestor. Reports a path that cannot be checked, and one that the match names and that is not
  /// a directory.
  bool IsDirectory(const std::string& path);

  /// Watches everything that determines whether the path exists and what it leads to.
  void WatchPath(const std::string& path) {
    WatchNearestExisting(DirectoryOf(path));
    WatchLinks(path);
  }

  /// Returns the sysfs devices for which `is_asked_for` holds, in subsystems whose name is
  /// `wanted`. Parts of /sys that cannot be read are one rejection, and are reported one by one.
  std::vector<DeviceAncestry> SysfsDevices(
      const std::function<bool(std::string_view)>& wanted,
      const std::function<bool(const SysfsDevice&)>& is_asked_for);
  /// Claims a sysfs device for this match. Returns false if an earlier match has claimed it.
  bool Take(const SysfsDevice& device);
  /// Returns why the conditions of the match do not select the device, if so. Reports a device for
  /// which `not` compared nothing.
  std::optional<Unselected> WhyUnselected(const DeviceAncestry& device);

  /// Returns why `exclude` of the match excludes the node at `path`, if so, and reports it. For a
  /// node that the conditions leave out, set `only_with_device`: only its device matters.
  std::optional<Excluded> ExcludeNode(const std::string& path, bool only_with_device = false);
  /// Returns what the path leads to. Watches the targets of the links on the way. `entry` is its
  /// directory entry, or null.
  Result<HostNode> Follow(const std::string& path, const HostEntry* entry);
  /// Returns the node at `path`, unless it is excluded or of another type. Reports a node that is
  /// not available. Watches its directory and the targets of links that lead to it. If
  /// `with_device` is not null, a node that excludes the device that it belongs to is returned too,
  /// with the reason.
  std::optional<DeviceNode> NodeAt(const std::string& path, const HostEntry* entry,
                                   NamedValues values, std::string* with_device = nullptr);
  /// Returns the node of a sysfs device. A node whose number is not that of the device belongs to
  /// another device and is rejected.
  std::optional<DeviceNode> NodeOf(const SysfsDevice& device, NamedValues values,
                                   std::string* with_device = nullptr);
  /// Adds the node at `path`, unless it is excluded, of another type, already added, or does not
  /// meet the conditions of the match. `entry` is its directory entry, or null. `captures` are the
  /// parts of `path` that the match names. With kDra, a node has the values of its sysfs device, if
  /// it has one.
  void AddNode(const std::string& path, const HostEntry* entry, NamedValues captures,
               std::string identity);
  /// Adds a device without its ID for the current match; beyond the budget, rejects it. `identity`
  /// is the text of the default ID, `syspath` that of a sysfs device without nodes.
  void AddCandidate(Device found, std::string identity, std::string syspath = {},
                    std::string unhealthy = {});
  /// Adds a part of an excluded device for the current match; `path` is its place on the host. With
  /// `group_by`, the other parts of that device are excluded too.
  void AddExcluded(Device part, const std::string& path, std::string why);
  /// Adds a rejection for the current match. `detail` is the reason in words.
  void Reject(std::string path, RejectReason reason, std::string detail);
  /// Adds only the first rejection for each path.
  void RejectOnce(const std::string& path, RejectReason reason, std::string detail);
  /// Rejects a candidate, which may belong to a previous match.
  void RejectCandidate(const Candidate& candidate, RejectReason reason, std::string detail);
  /// Rejects a path that exists but cannot be read. The scan is then incomplete.
  void RejectUnreadable(const std::string& path, Error error);

  const ScanRequest& request() const { return request_; }
  /// The state of the command of the match, kept between scans.
  ScanCache::Command& command_cache() { return request_.cache->commands[match_index_]; }
  const Sysfs& sysfs() const { return sysfs_; }
  DeviceAncestries& ancestries() { return ancestries_; }
  const HostRoot& host() const { return host_; }
  std::vector<Candidate>& candidates() { return candidates_; }
  std::size_t match_index() const { return match_index_; }
  Exclusion& exclusion() { return exclusion_; }
  /// Parts of excluded devices of the match, if it has `group_by`, and why they are excluded.
  const std::vector<std::pair<Device, std::string>>& excluded() const { return excluded_; }
  const MatchSpec& match() const { return *match_; }
  /// Returns whether the interfaces that the match finds move into containers.
  bool moves_interfaces() const { return moves_interfaces_; }
  /// The records of interfaces on the host, of all matches.
  std::vector<InterfaceRecord>& interfaces() { return interfaces_; }
  const NetworkUse& networks() { return networks_ ? *networks_ : networks_.emplace(host_); }
  /// The nodes that `exclude` of the match excluded.
  const std::vector<HostNode>& excluded_nodes() const { return excluded_nodes_; }
  /// The syspaths of what `not` of the match excluded, if it has `exclude` too.
  const std::vector<std::string>& negated() const { return negated_; }
  std::vector<Rejection>& rejected() { return rejected_; }
  /// Directories whose changes may change the result; host paths without links.
  const std::set<std::string>& directories() const { return directories_; }
  /// Returns whether everything could be read.
  bool complete() const { return unreadable_ == 0; }
  /// Returns whether the scan ended because it needs more memory than it may use.
  bool is_over_budget() const { return is_over_budget_; }
  /// The number of failures to read.
  std::size_t unreadable() const { return unreadable_; }
  void SetIncomplete() { ++unreadable_; }
  ScanReport& report() { return report_; }

 private:
  bool TakeMemory(std::size_t bytes, const std::string& path);
  void WatchNearestExisting(std::string directory);
  void WatchLinks(std::string path);
  Result<HostNode> Resolve(const std::string& path, const HostEntry* entry);
  std::optional<Excluded> WhyExcluded(const std::string& path, const HostNode& node,
                                      bool only_with_device = false);
  std::optional<std::string> ExcludedByLinkOf(const DeviceNumber& number);
  std::optional<std::string> ExcludedByPartitionOf(const HostNode& node);
  bool IsGrouped() const { return !match_->group_by.empty(); }
  void AddUnused(std::string what);
  void NoteNegated(const Unselected& why, const DeviceAncestry& device);
  void CompareExcluded(const HostNode& node);
  bool AddSysfsValues(DeviceNode& node, std::string& excluded);
  void Add(Rejection rejection, MatchReport::Item item, std::size_t match);
  void RejectUnresolved(const std::string& path, const HostEntry* entry, Error error);

  const HostRoot& host_;
  const ScanRequest& request_;
  ScanReport report_;
  const Sysfs sysfs_;
  DeviceAncestries ancestries_;
  const MatchSpec* match_ = nullptr;
  std::size_t match_index_ = 0;
  Api api_ = Api::kDevicePlugin;
  bool moves_interfaces_ = false;
  std::vector<InterfaceRecord> interfaces_;
  std::optional<NetworkUse> networks_;
  Exclusion exclusion_;
  std::vector<UnusedExclude> unused_excludes_;
  std::vector<Candidate> candidates_;
  std::vector<std::pair<Device, std::string>> excluded_;
  std::vector<HostNode> excluded_nodes_;
  std::vector<std::string> negated_;
  std::set<std::string_view> unused_conditions_;  ///< of `not`: those that excluded no device yet
  bool has_selected_ = false;                     ///< whether the conditions selected a device
  std::vector<Rejection> rejected_;
  std::unordered_set<std::string> paths_;  ///< of all matches; the first that finds one keeps it
  std::unordered_set<std::string> taken_;  ///< syspaths
  std::set<std::string> directories_;
  std::unordered_set<std::string>
      watched_links_;  ///< paths that may contain links and are watched already
  std::pair<std::string, std::string> last_directory_;  ///< as requested, and resolved
  std::size_t unreadable_ = 0;
  std::size_t unreadable_before_ = 0;  ///< at the beginning of the match
  bool is_over_budget_ = false;
};

}  // namespace patchbay
