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

/// Reports when names come and go in a set of directories, and if asked when a file there was
/// written (inotify).
///
/// Belongs to the loop thread. Adding a watch looks up a path, which can hang, so it is separate:
/// an Adder does it on any thread, and Merge takes the result on the loop. Between the two the
/// events of a new watch are lost, and by the time of Merge it may be gone again, with its
/// directory or because nothing else used it. Therefore whoever scans a directory adds its watch
/// after each scan, and scans again what Merge calls new: the second scan finds what happened in
/// between, and the second Add replaces a watch that is gone.
class DirWatch {
 public:
  /// A name in `directory` was made, removed or replaced, or written if that is asked for. `name`
  /// is empty when the directory itself went or events were lost: look at all of it.
  using OnChange = std::function<void(const std::string& directory, std::string_view name)>;

  enum class Events {
    kNames,
    /// Also that a file was closed by who could write to it. One that is new is reported only then.
    kNamesAndWrites,
  };

  static Result<std::unique_ptr<DirWatch>> Create(Loop& loop, OnChange on_change,
                                                  Events events = Events::kNames);

  /// What became of the directories that were added.
  using Added = std::map<std::string, Result<int>>;  ///< watch descriptors

  /// Adds watches. A value; thread-safe, and usable after the DirWatch is gone.
  class Adder {
   public:
    /// Watches the directories that are at these paths (of this process) now. Can hang.
    Added Add(const std::set<std::string>& directories) const;

   private:
    friend class DirWatch;
    std::shared_ptr<const UniqueFd> fd_;
    std::uint32_t mask_ = 0;
  };
  const Adder& adder() const { return adder_; }

  /// What a call to Merge or Watch came to.
  struct Outcome {
    /// To be scanned again: newly watched, so that they may have changed before the watch was
    /// there; or gone, whatever was seen there before.
    std::vector<std::string> changed;
    std::vector<Error> failed;
  };
  /// From now on these directories are watched too. One that was replaced by another is new.
  Outcome Merge(const Added& added);
  /// Watches no directories but these.
  void Retain(const std::set<std::string>& directories);

  /// All of that at once, for paths that do not hang: watches these directories and no others.
  Outcome Watch(const std::set<std::string>& directories);

  bool Watches(const std::string& directory) const { return by_path_.contains(directory); }
  /// How many directories are watched.
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
  std::map<int, std::set<std::string>> by_watch_;  ///< one inode may have several paths
  Subscription readable_;
};

}  // namespace patchbay
