#pragma once

#include <cstddef>
#include <fstream>
#include <optional>
#include <string>

#include "chaos/random.h"
#include "support/config_map.h"
#include "support/temp_tree.h"

namespace patchbay::test {

/// The configuration on the disk: a file, a directory, or a ConfigMap's mount behind a link, in the
/// ways in which people and kubelets write them.
class ConfigFiles {
 public:
  static constexpr std::size_t kKinds = 4;

  /// `settings` are the lines of [daemon], which stay as they are.
  ConfigFiles(TempTree& tree, std::size_t kind, std::string settings);

  /// What the daemon is told to read.
  std::string path() const;
  std::string kind() const;
  /// Whether nobody ever reads a part of it.
  bool IsAtomic() const { return IsMap(); }

  /// Writes these resources, whole. Says how.
  std::string Write(const std::string& resources, Random& random);
  /// Writes a part, where there is a way to do so; the rest comes with the next write.
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
  std::string directory_ = "etc";  ///< where the link leads, if not to the map
  std::optional<std::ofstream> half_;
  std::string rest_;
};

}  // namespace patchbay::test
