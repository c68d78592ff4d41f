#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/dir_watch.h"
#include "os/loop.h"
#include "os/thread_pool.h"

namespace patchbay {

/// The names that determine what a path resolves to, keyed by the directory that contains them (a
/// path without links). "" stands for every name in the directory.
using DecisiveNames = std::map<std::string, std::set<std::string, std::less<>>>;

/// Adds each component of an absolute path to `names`, following links like the kernel. If the path
/// leads to a directory, also adds every name in it, and the components of the targets of its
/// links. Stops at a missing component and at a cycle of links.
void FindDecisiveNames(const std::string& path, DecisiveNames& names);

/// Reports when the content of some files and directories may have changed: a file was written and
/// closed, or a component of its path, including links, was created, removed or replaced. A
/// directory stands for all files in it. A path need not exist.
///
/// Used on the loop thread only. The thread pool looks up and watches the paths, because that can
/// hang; nothing is reported until it returns.
class PathWatch {
 public:
  /// A change is reported when no event has arrived for kSettle, or when kMaxSettle has passed
  /// since the first event, so that continuous writes do not delay the report indefinitely.
  static constexpr std::chrono::milliseconds kSettle{100};
  static constexpr std::chrono::milliseconds kMaxSettle{1000};

  /// Relative paths are relative to the working directory at the time of the call. Fails with
  /// kUnavailable if no inotify instance is available. The pool must outlive the PathWatch.
  static Result<std::unique_ptr<PathWatch>> Create(Loop& loop, ThreadPool& pool,
                                                   const std::vector<std::string>& paths,
                                                   std::function<void()> on_change);

  /// Resolves the paths and watches the directories on the way, then calls `done` on the loop.
  /// Changes to files that are read after that are reported. Nothing is watched before the first
  /// call. Call it again to retry paths that could not be watched.
  void Watch(std::function<void()> done);

  /// Returns whether such a search is in progress.
  bool finding() const { return finding_; }

  /// Returns the errors for directories that cannot be watched, where changes are missed. Describes
  /// the last Watch; the paths are watched again before each `on_change`.
  const std::vector<Error>& failed() const { return failed_; }

 private:
  struct Found {
    DecisiveNames names;
    DirWatch::Added added;
  };

  PathWatch(Loop& loop, ThreadPool& pool, std::vector<std::string> paths,
            std::function<void()> on_change);
  static Found FindAndAdd(const std::vector<std::string>& paths, const DirWatch::Adder& adder);
  void OnEvent(const std::string& directory, std::string_view name);
  void OnFound(Found found);

  Loop& loop_;
  ThreadPool& pool_;
  const std::vector<std::string> paths_;
  const std::function<void()> on_change_;
  std::unique_ptr<DirWatch> directories_;
  DecisiveNames names_;
  std::vector<Error> lost_;  ///< relative paths whose working directory was removed
  std::vector<Error> failed_;
  std::optional<Loop::Time> first_event_;  ///< of those not reported yet
  Subscription settled_;
  bool finding_ = false;
  bool reports_change_ = false;                        ///< after the next FindAndAdd that starts
  std::vector<std::function<void()>> callbacks_;       ///< of the current FindAndAdd
  std::vector<std::function<void()>> next_callbacks_;  ///< of the next one
  Lifetime lifetime_;
};

}  // namespace patchbay
