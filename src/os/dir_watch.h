#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/loop.h"
#include "os/unique_fd.h"

namespace patchbay {

/// Reports when names are created or removed in a set of directories and, optionally, when a file
/// in them is written. Uses inotify(7).
///
/// Used on the loop thread only. Adding a watch looks up a path, which can hang, so it is a
/// separate step: an Adder adds watches on any thread, and Merge applies the result on the loop.
/// Events of a new watch are lost between the two steps. By the time of Merge the watch may also be
/// removed again, with its directory or because another path of the same directory was dropped.
/// Therefore add the watch of a directory after each scan, and scan the directories that Merge
/// returns as changed again: the second scan finds the changes in between, and the second Add
/// replaces a removed watch.
class DirWatch {
 public:
  /// A name in `directory` was created, removed or replaced or, with kNamesAndWrites, written.
  /// `name` is empty if the directory itself was removed or moved or if events were lost: scan the
  /// whole directory.
  using OnChange = std::function<void(const std::string& directory, std::string_view name)>;

  enum class Events {
    kNames,
    /// Also reports when a file that was open for writing is closed. A new file is reported only
    /// then.
    kNamesAndWrites,
  };

  static Result<std::unique_ptr<DirWatch>> Create(Loop& loop, OnChange on_change,
                                                  Events events = Events::kNames);

  /// The result for each directory that was added.
  using Added = std::map<std::string, Result<int>>;  ///< watch descriptors

  /// Adds watches. A value type; thread-safe, and usable after the DirWatch is destroyed.
  class Adder {
   public:
    /// Watches the directories that exist at these paths, in the namespace of this process. Can
    /// hang.
    Added Add(const std::set<std::string>& directories) const;

   private:
    friend class DirWatch;
    std::shared_ptr<const UniqueFd> fd_;
    std::uint32_t mask_ = 0;
  };
  const Adder& adder() const { return adder_; }

  /// The result of Merge or Watch.
  struct Outcome {
    /// Directories to scan again: newly watched ones, which may have changed before they were
    /// watched, and removed ones, even if an earlier scan found them.
    std::vector<std::string> changed;
    /// Errors for the directories that cannot be watched, including those that do not exist.
    std::vector<Error> failed;
  };
  /// Watches these directories in addition to the others. A directory that replaced another one at
  /// its path is new.
  Outcome Merge(const Added& added);
  /// Stops watching all directories except these.
  void Retain(const std::set<std::string>& directories);

  /// Combines Retain, Add and Merge for paths that cannot hang: watches these directories and no
  /// others.
  Outcome Watch(const std::set<std::string>& directories);

  bool Watches(const std::string& directory) const { return by_path_.contains(directory); }
  /// Returns the number of watched directories.
  std::size_t size() const { return by_path_.size(); }

 private:
  DirWatch(Loop& loop, UniqueFd fd, OnChange on_change, Events events);
  void Read();
  void Drop(const std::string& path);
  void Forget(int watch);

  Adder adder_;
  OnChange on_change_;
  const Events events_;
  std::map<std::string, int> by_path_;
  std::map<int, std::set<std::string>> by_watch_;  ///< an inode can have several paths
  Subscription readable_;
};

}  // namespace patchbay
