#pragma once

#include <cstddef>
#include <fstream>
#include <optional>
#include <string>

#include "chaos/random.h"
#include "support/config_map.h"
#include "support/temp_tree.h"

namespace patchbay::test {

/// The configuration on disk: a file, a directory, or the mount of a ConfigMap behind a link. It is
/// written in the ways that editors and kubelets use.
class ConfigFiles {
 public:
  static constexpr std::size_t kKinds = 4;

  /// `settings` are the lines of [daemon], which do not change.
  ConfigFiles(TempTree& tree, std::size_t kind, std::string settings);

  /// The path for --config.
  std::string path() const;
  std::string kind() const;
  /// Returns whether a reader always gets a complete configuration.
  bool IsAtomic() const { return IsMap(); }

  /// Writes these resources completely. Returns how.
  std::string Write(const std::string& resources, Random& random);
  /// Writes a part of the resources if the kind permits it; the next write completes it.
  std::string WriteHalf(const std::string& resources, Random& random);

 private:
  bool IsMap() const;
  bool IsDirectory() const;
  std::string Complete(const std::string& resources) const;
  void FinishHalf();
  void MoveAway();
  std::string file() const { return directory_ + "/resources.toml"; }

  TempTree& tree_;
  const std::size_t kind_;
  const std::string settings_;
  ConfigMap map_;
  std::string directory_ = "etc";  ///< the target of the link, unless it is the map
  std::optional<std::ofstream> half_;
  std::string rest_;
};

}  // namespace patchbay::test
