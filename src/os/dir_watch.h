#pragma once

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

/// Tells when names come and go in a set of directories, and if asked when a file there was written
/// (inotify).
///
/// Belongs to the loop thread. What it cannot watch (a missing directory, no watches left) it says;
/// the caller has a slower way of finding out.
class DirWatch {
 public:
  /// A name in `directory` was made, removed or replaced, or written if that is asked for. `name`
  /// is empty when the directory itself went or events were lost: look at all of it.
  using OnChange = std::function<void(const std::string& directory, std::string_view name)>;

  enum class Events {
    kNames,
    /// Also that a file was closed by who could write to it. One that is new is told of only then.
    kNamesAndWrites,
  };

  static Result<std::unique_ptr<DirWatch>> Create(Loop& loop, OnChange on_change,
                                                  Events events = Events::kNames);

  /// What a call to Watch came to.
  struct Outcome {
    /// To be looked at once more: newly watched, so that they may have changed before the watch was
    /// there; or gone, whatever was seen there before.
    std::vector<std::string> changed;
    std::vector<Error> failed;
  };
  /// Watches the directories that are at these paths (of this process) now, and no others. One that
  /// was replaced by another is newly watched.
  Outcome Watch(const std::set<std::string>& directories);

  bool Watches(const std::string& directory) const { return by_path_.contains(directory); }
  /// How many directories are watched.
  std::size_t size() const { return by_path_.size(); }

 private:
  DirWatch(Loop& loop, UniqueFd fd, OnChange on_change, Events events);
  void Read();
  void Drop(const std::string& path);
  void Forget(int watch);

  UniqueFd fd_;
  OnChange on_change_;
  const Events events_;
  std::map<std::string, int> by_path_;
  std::map<int, std::set<std::string>> by_watch_;  ///< one inode may have several paths
  Subscription readable_;
};

}  // namespace patchbay
