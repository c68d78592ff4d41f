#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/glob.h"

namespace patchbay {

class ScanContext;

/// The `exclude` of one match in one scan. A glob excludes a node by its matched path, by its path
/// without links, and by every link to it that exists on the host or that udev requested for it.
/// For example, "/dev/disk/by-id/nvme-SYSTEM" excludes /dev/nvme0n1 and all other links to it. The
/// directories of links that do not exist yet are watched. While a glob cannot be evaluated, every
/// node is excluded, so that an excluded node is never advertised.
///
/// A value; belongs to the thread of its scan.
class Exclusion {
 public:
  /// Excludes nothing.
  Exclusion() = default;
  /// Evaluates the globs on the host. Called before the source of the match runs.
  static Exclusion Of(const std::vector<Glob>& globs, ScanContext& scan);

  bool empty() const { return globs_.empty(); }
  /// Returns why the matched path is excluded, or nothing.
  std::optional<std::string> OfName(const std::string& path) const;
  /// Returns why the node that `path` resolves to is excluded, and by which link, or nothing.
  std::optional<std::string> OfNode(const std::string& path, const std::string& real_path) const;

 private:
  struct Link {
    std::string path;  ///< as the glob matched it
    std::string glob;
  };

  std::vector<Glob> globs_;
  std::string undecided_;  ///< a glob that could not be evaluated; empty if none
  std::unordered_map<std::string, Link> links_;  ///< the first link to each path without links
};

}  // namespace patchbay
