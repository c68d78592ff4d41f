#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "chaos/random.h"
#include "support/hanging_mount.h"
#include "support/temp_tree.h"

namespace patchbay::test {

/// Directories of the host with files that resources need, and file systems that do not respond,
/// which are mounted on them for a while. While one hangs, this process must not look below it.
///
/// Every change returns what was done.
class Hangs {
 public:
  /// What lies in the directory. Each has the directory /mnt/N of its own.
  enum SourceLocation : std::size_t {
    kMatch,       ///< devices that a match finds
    kDeviceNode,  ///< a device node that containers get
    kMount,       ///< a file that is mounted into containers
    kProbe,       ///< a file that a probe reads
    kHook,        ///< a program that a hook runs
    kPlaces
  };
  using Places = std::set<SourceLocation>;
  static std::string Directory(SourceLocation place);
  static std::string Name(SourceLocation place);

  /// Makes the directories and what lies in them, but for the devices.
  explicit Hangs(TempTree& tree);

  std::string Begin(SourceLocation place);
  std::string End(Random& random);
  std::string EndAll();

  /// Counts on which of them somebody hangs now. Call it often: that can end by itself.
  void Count();

  bool any() const { return !mounts_.empty(); }
  bool contains(SourceLocation place) const { return mounts_.contains(place); }
  /// Why no file system can be mounted here; empty if one can, or none was tried.
  const std::string& why_not() const { return why_not_; }
  /// On how many file systems of each place somebody has hung.
  const std::map<SourceLocation, std::size_t>& hung() const { return hung_; }

 private:
  TempTree& tree_;
  std::string why_not_;
  std::map<SourceLocation, std::size_t> hung_;
  std::map<SourceLocation, std::unique_ptr<HangingMount>> mounts_;
  Places counted_;  ///< of the mounts
};

}  // namespace patchbay::test
