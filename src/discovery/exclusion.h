#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/glob.h"
#include "os/host_root.h"

namespace patchbay {

struct MatchSpec;
class ScanContext;

/// Why a node is excluded.
struct Excluded {
  std::string why;           ///< for an administrator: "it is excluded by /dev/snd/controlC1"
  bool with_device = false;  ///< whether the device that it belongs to is excluded too
};

/// The `exclude` of one match in one scan. A glob excludes a node by its matched path, by its path
/// without links, and by every link to it that exists on the host or that udev requested for it.
/// For example, "/dev/disk/by-id/nvme-SYSTEM" excludes /dev/nvme0n1 and all other links to it. A
/// partition that is excluded excludes its disk. A glob that names a device, because it has no
/// wildcard or matches a link, excludes the device with all its nodes, see RemoveExcluded; a
/// pattern for the kernel's names leaves out nodes. The directories of links that do not exist yet
/// are watched. While a glob cannot be evaluated, every node is excluded, so that an excluded node
/// is never advertised.
///
/// A value; belongs to the thread of its scan.
class Exclusion {
 public:
  /// Excludes nothing.
  Exclusion() = default;
  /// Evaluates the globs on the host. Called before the source of the match runs.
  static Exclusion Of(const MatchSpec& match, ScanContext& scan);

  bool empty() const { return patterns_.empty(); }
  /// Returns why the matched path is excluded, or nothing.
  std::optional<std::string> OfName(const std::string& path);
  /// Returns why the node that `path` resolves to is excluded, and by which link, or nothing. With
  /// `only_with_device`, globs that only leave out nodes do not apply.
  std::optional<Excluded> OfNode(const std::string& path, const std::string& real_path,
                                 bool only_with_device = false);
  /// Returns why a partition, the node `path` with the links that udev requested for it, excludes
  /// its disk, or nothing. A glob with a wildcard that begins no more narrowly than that of the
  /// match does not: with "/dev/disk/by-id/ata-*", the glob "/dev/disk/by-id/*-part*" only leaves
  /// out the partitions.
  std::optional<std::string> OfPartition(const std::string& path,
                                         std::span<const std::string> links);

  /// A node on the host that a glob excludes with its device, although the match may not find it.
  struct Named {
    HostNode node;
    std::size_t pattern;
  };
  const std::vector<Named>& named() const { return named_; }
  /// Notes that the glob of a named node has excluded something. Returns why, for a message.
  std::string MarkUsed(const Named& named);

  /// Returns the globs that have excluded nothing. Of a glob such as "/dev/{sda,sdb}", each name is
  /// a glob of its own.
  std::vector<std::string> Unused() const;

 private:
  struct Pattern {
    Glob glob;
    bool has_wildcard;
    bool only_filters;  ///< see OfPartition
    bool is_used = false;
    /// A pattern for the kernel's names, such as /dev/dri/card*, names a kind of node instead.
    bool NamesDevice(bool by_link) const { return !only_filters && (by_link || !has_wildcard); }
  };
  struct Link {
    std::string path;  ///< as the glob matched it
    std::size_t pattern;
  };
  Pattern* FirstMatch(const std::string& path, bool for_disk = false);

  std::vector<Pattern> patterns_;
  std::vector<Named> named_;
  std::string undecided_;  ///< a glob that could not be evaluated; empty if none
  /// The links to each path without links, in the order in which they were found.
  std::multimap<std::string, Link> links_;
};

}  // namespace patchbay
