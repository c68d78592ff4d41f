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

/// Directories of the host with files that resources need. File systems that do not respond are
/// mounted on them for a while. While one hangs, this process must not access paths below it.
///
/// Every change returns what was done.
class Hangs {
 public:
  /// The purpose of a directory. Each purpose has its own directory /mnt/N.
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

  /// Creates the directories and their files, except the devices.
  explicit Hangs(TempTree& tree);

  std::string Begin(SourceLocation place);
  std::string End(Random& random);
  std::string EndAll();

  /// Counts the mounts on which a process hangs now. Call it often, because a hang can end by
  /// itself.
  void Count();

  bool any() const { return !mounts_.empty(); }
  bool contains(SourceLocation place) const { return mounts_.contains(place); }
  /// Returns why no file system can be mounted; empty if it works or was not tried.
  const std::string& why_not() const { return why_not_; }
  /// Returns on how many mounts a process has hung, by directory.
  const std::map<SourceLocation, std::size_t>& hung() const { return hung_; }

 private:
  TempTree& tree_;
  std::string why_not_;
  std::map<SourceLocation, std::size_t> hung_;
  std::map<SourceLocation, std::unique_ptr<HangingMount>> mounts_;
  Places counted_;  ///< current mounts that have been counted
};

}  // namespace patchbay::test
