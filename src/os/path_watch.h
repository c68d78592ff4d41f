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

/// The names that decide what a path leads to, by the directory they lie in, which is one without
/// links. "" stands for every name.
using DecisiveNames = std::map<std::string, std::set<std::string, std::less<>>>;

/// Adds to `names` each component of an absolute path, links followed as the kernel does, and where
/// it leads to a directory every name there and what links in it lead through. What is missing ends
/// the way, as does a circle of links.
void FindDecisiveNames(const std::string& path, DecisiveNames& names);

/// Reports when what is read from some files and directories may have changed: a file was written
/// and closed, or anything on the way to it, links included, was made, removed or replaced. A
/// directory stands for all that lies in it. A path need not exist.
///
/// Belongs to the loop thread. Paths are looked up and watched in the pool, since that can hang:
/// then nothing is reported until it ends.
class PathWatch {
 public:
  /// It reports when nothing has happened for kSettle, or when kMaxSettle has passed since the
  /// first event: a writer that never stops holds up nothing.
  static constexpr std::chrono::milliseconds kSettle{100};
  static constexpr std::chrono::milliseconds kMaxSettle{1000};

  /// Relative paths are of the working directory of this moment. Fails with kUnavailable where the
  /// system has no inotify instance left. The pool outlives it.
  static Result<std::unique_ptr<PathWatch>> Create(Loop& loop, ThreadPool& pool,
                                                   const std::vector<std::string>& paths,
                                                   std::function<void()> on_change);

  /// Finds where the paths lead and watches that, then calls `done` on the loop: what is read after
  /// that is watched. Without it nothing is, so call it first; again for what could not be watched
  /// before.
  void Watch(std::function<void()> done);

  /// Whether that is under way.
  bool finding() const { return finding_; }

  /// Directories that cannot be watched, so that changes there are missed. Of the last Watch, which
  /// comes before each `on_change`, too.
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
  std::vector<Error> lost_;  ///< relative paths of a working directory that is gone
  std::vector<Error> failed_;
  std::optional<Loop::Time> first_event_;  ///< of those that were not reported yet
  Subscription settled_;
  bool finding_ = false;
  bool reports_change_ = false;                   ///< after the next FindAndAdd that begins
  std::vector<std::function<void()>> asked_;      ///< to be called after that
  std::vector<std::function<void()>> answering_;  ///< to be called after the one under way
  Lifetime lifetime_;
};

}  // namespace patchbay
