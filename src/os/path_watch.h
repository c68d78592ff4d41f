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

namespace patchbay {

/// The names that decide what a path leads to, by the directory they lie in, which is one without
/// links. "" stands for every name.
using DecisiveNames = std::map<std::string, std::set<std::string, std::less<>>>;

/// Adds to `names` each component of an absolute path, links followed as the kernel does, and where
/// it leads to a directory every name there and what links in it lead through. What is missing ends
/// the way, as does a circle of links.
void FindDecisiveNames(const std::string& path, DecisiveNames& names);

/// Tells when what is read from some files and directories may have changed: a file was written and
/// closed, or anything on the way to it, links included, was made, removed or replaced. A directory
/// stands for all that lies in it. A path need not exist.
///
/// Belongs to the loop thread. Tells of what happens after Create; what was read before it may be
/// old.
class PathWatch {
 public:
  /// It is told when nothing has happened for kSettle, or when kLongestSettle has passed since the
  /// first event: a writer that never stops holds up nothing.
  static constexpr std::chrono::milliseconds kSettle{100};
  static constexpr std::chrono::milliseconds kLongestSettle{1000};

  /// Relative paths are of the working directory of this moment. Fails with kUnavailable where the
  /// system has no inotify instance left.
  static Result<std::unique_ptr<PathWatch>> Create(Loop& loop, std::vector<std::string> paths,
                                                   std::function<void()> on_change);

  /// Looks where the paths lead and watches that, for what could not be watched before. Nobody is
  /// told of what it finds.
  void Watch();

  /// Directories that cannot be watched, so that changes there are missed. Anew with each
  /// `on_change` and each Watch.
  const std::vector<Error>& failed() const { return failed_; }

 private:
  PathWatch(Loop& loop, std::vector<std::string> paths, std::function<void()> on_change);
  void OnEvent(const std::string& directory, std::string_view name);

  Loop& loop_;
  const std::vector<std::string> paths_;
  const std::function<void()> on_change_;
  std::unique_ptr<DirWatch> directories_;
  DecisiveNames names_;
  std::vector<Error> failed_;
  std::optional<Loop::Time> first_event_;  ///< of those that were not told yet
  Subscription settled_;
};

}  // namespace patchbay
