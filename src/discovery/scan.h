#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/path.h"
#include "base/result.h"
#include "discovery/account.h"
#include "discovery/exclusion.h"
#include "discovery/lineage.h"
#include "discovery/pass.h"
#include "model/snapshot.h"
#include "os/host_root.h"

namespace patchbay {

/// Something a source found that may become a device.
struct Candidate {
  Device device;             ///< without an ID as yet
  std::string identity;      ///< what the default ID is made of
  std::string syspath = {};  ///< of the device of sysfs that was found, rather than a node
  std::size_t match = 0;     ///< which [[resource.match]] found it

  /// What people find it by on the host: its first node, else its name in sysfs, else its identity.
  std::string label() const;
  /// The same for a report.
  MatchReport::Thing thing() const;
};

/// What the sources of one resource see on the host in one pass. The sources add to it; see
/// discovery/sources.h. Belongs to one thread, which may be slow.
class Scan {
 public:
  /// More than this many candidates or rejections of one resource are not kept.
  static constexpr std::size_t kMaxCandidates = 100'000;
  static constexpr std::size_t kMaxRejections = 1'000;

  /// Both outlive the scan.
  Scan(const HostRoot& host, const Pass& pass)
      : host_(host),
        pass_(pass),
        account_(pass),
        sysfs_(host,
               [this](const std::string& place, const Error& error) {
                 account_.Look({.place = place, .problem = error.message});
               }),
        lineages_(sysfs_),
        last_listings_(std::exchange(pass.memory->listings, {})) {}
  Scan(const Scan&) = delete;
  Scan& operator=(const Scan&) = delete;

  /// What follows is about this match. Looks for what its `exclude` names, and watches udev's
  /// database where the match asks sysfs.
  void BeginMatch(const MatchSpec& match, std::size_t index);

  /// The entries of a directory, to be watched from now on. Nothing where it does not exist; then
  /// its nearest ancestor is watched. Reports a directory that cannot be read. `pattern` tells
  /// calls of one match for one directory apart that want other names; in a directory that has
  /// been quiet the entries are those of the last pass. They stay as long as the pass's memory.
  const std::vector<HostEntry>& List(const std::string& directory, const std::string& pattern,
                                     const std::function<bool(const std::string&)>& wanted);
  /// Whether `path` is a directory, seen through links. Watches it, or its nearest ancestor where
  /// it does not exist. Reports a path that cannot be looked at, and one that the match names and
  /// that is no directory.
  bool IsDirectory(const std::string& path);

  /// Watches what decides where a path leads, and whether it is there.
  void WatchPath(const std::string& path) {
    WatchNearest(DirectoryOf(path));
    WatchLinks(path);
  }

  /// The devices of sysfs in subsystems whose name passes `wanted`, as far as they are what is
  /// asked for. What of /sys cannot be read is rejected as one, and reported place by place.
  std::vector<Lineage> SysfsDevices(const std::function<bool(std::string_view)>& wanted,
                                    const std::function<bool(const SysfsDevice&)>& is_asked_for);
  /// Whether no match before has taken this device of sysfs; from now on this one has.
  bool Take(const SysfsDevice& device);
  /// Why the device does not meet the conditions of the match; nothing if it does.
  std::optional<std::string> UnmetCondition(const Lineage& device) const;

  /// Whether an `exclude` of the match takes away the node at `path`; keeps account of it.
  bool IsExcluded(const std::string& path);
  /// What the path leads to; nothing where it leads nowhere. Watches what the links on the way lead
  /// through. `entry` is what a listing said of it; null to look.
  Result<HostNode> Follow(const std::string& path, const HostEntry* entry);
  /// The node at `path`, unless it is excluded or of another type; nothing and a report where it
  /// cannot be had. Watches its directory and, where links lead to it, what they lead through.
  std::optional<DeviceNode> NodeAt(const std::string& path, const HostEntry* entry,
                                   NamedValues values);
  /// The node of a device that sysfs has one for: the same, and it must have the number of the
  /// device, or the node is another device's and is rejected.
  std::optional<DeviceNode> NodeOf(const SysfsDevice& device, NamedValues values);
  /// Adds the node at `path`, unless it is excluded, of another type, or already there, or does not
  /// meet the conditions of the match. `entry` is what a listing said of it; null to look.
  /// `captures` are parts of `path`, named by the match itself.
  void AddNode(const std::string& path, const HostEntry* entry, NamedValues captures,
               std::string identity);
  void AddCandidate(Candidate candidate);
  void Reject(std::string path, RejectReason reason, std::string detail);
  /// The same for what no more than one reason is wanted of: the first.
  void RejectOnce(const std::string& path, RejectReason reason, std::string detail);
  /// The same of a candidate, which may be of another match than the last.
  void RejectCandidate(const Candidate& candidate, RejectReason reason, std::string detail);
  /// The same of what is there but cannot be read, so that nobody knows what it holds.
  void RejectUnreadable(const std::string& path, Error error);

  const Pass& pass() const { return pass_; }
  /// What the command of the match left in the last pass, and what it leaves for the next.
  PassMemory::Command& command_memory() { return pass_.memory->commands[match_index_]; }
  const Sysfs& sysfs() const { return sysfs_; }
  Lineages& lineages() { return lineages_; }
  const HostRoot& host() const { return host_; }
  std::vector<Candidate>& candidates() { return candidates_; }
  std::vector<Rejection>& rejected() { return rejected_; }
  /// Directories whose changes may change the outcome; host paths without links.
  const std::set<std::string>& directories() const { return directories_; }
  /// Whether everything could be read.
  bool complete() const { return unreadable_ == 0; }
  /// How often something could not be read.
  std::size_t unreadable() const { return unreadable_; }
  void SetIncomplete() { ++unreadable_; }
  Account& account() { return account_; }

 private:
  bool IsUnchanged(const HostNode& directory, const PassMemory::Listing& last,
                   const DirectoryStamp& stamp) const;
  void WatchNearest(std::string directory);
  void WatchLinks(std::string path);
  Result<HostNode> Resolve(const std::string& path, const HostEntry* entry);
  std::optional<std::string> ExcludedByLinkOf(const HostNode& node) const;
  bool Drop(const std::string& path, std::optional<std::string> excluded);
  bool AddSysfsValues(DeviceNode& node);
  void Add(Rejection rejection, MatchReport::Thing thing, std::size_t match);
  void RejectUnresolved(const std::string& path, const HostEntry* entry, Error error);

  const HostRoot& host_;
  const Pass& pass_;
  Account account_;
  const Sysfs sysfs_;
  Lineages lineages_;
  std::map<PassMemory::ListingKey, PassMemory::Listing> last_listings_;
  const MatchSpec* match_ = nullptr;
  std::size_t match_index_ = 0;
  Exclusion exclusion_;
  std::vector<Candidate> candidates_;
  std::vector<Rejection> rejected_;
  std::unordered_set<std::string> paths_;  ///< decided on: the first match that finds one keeps it
  std::unordered_set<std::string> taken_;  ///< syspaths
  std::set<std::string> directories_;
  std::unordered_set<std::string> seen_to_;  ///< by WatchNearest; paths that may lead through links
  std::pair<std::string, std::string> last_directory_;  ///< as asked for, and where it leads
  std::size_t unreadable_ = 0;
};

}  // namespace patchbay
