#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/glob.h"

namespace patchbay {

class ScanContext;

/// The `exclude` of one match in one scan. A node is excluded by its path as matched, by the path
/// that leads to without links, and by every link to it that a glob names on the host, or that udev
/// wanted for it: so
/// "/dev/disk/by-id/nvme-SYSTEM" excludes /dev/nvme0n1 and all other links to it. A link that does
/// not exist yet excludes nothing until it does; where it may appear is watched. While a glob
/// cannot be looked up, every node is excluded: one that was excluded before must not be given out.
///
/// A value; belongs to the thread of its scan.
class Exclusion {
 public:
  /// Excludes nothing.
  Exclusion() = default;
  /// Looks on the host for what the globs name, before the source of the match does.
  static Exclusion Of(const std::vector<Glob>& globs, ScanContext& scan);

  bool empty() const { return globs_.empty(); }
  /// Why the path as matched is excluded; nothing if it is not.
  std::optional<std::string> OfName(const std::string& path) const;
  /// The same of a node that `path` leads to, and by which link.
  std::optional<std::string> OfNode(const std::string& path, const std::string& real_path) const;

 private:
  struct Link {
    std::string path;  ///< as the glob names it
    std::string glob;
  };

  std::vector<Glob> globs_;
  std::string undecided_;  ///< a glob that could not be looked up; empty without one
  std::unordered_map<std::string, Link> links_;  ///< the first to each path without links
};

}  // namespace patchbay
