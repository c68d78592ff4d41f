// A path is watched through all directories that contain one of its components, including the
// components of link targets. FindAndAdd runs in the thread pool and repeats lookup and watch until
// two consecutive rounds give the same result. Everything else runs on the loop. At most one
// FindAndAdd runs at a time; requests that arrive meanwhile share the next one.
//
// After an event the targets may have changed, so the paths are watched again before `on_change_`
// is called. A change during the following read therefore causes another event.

#include "os/path_watch.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "base/format.h"
#include "os/host_root.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxTries = 10;

/// Follows `path` to its end and adds its components to `names`. Returns the directory that it
/// leads to, or nothing if it leads to anything else.
std::optional<std::string> Follow(const std::string& path, DecisiveNames& names) {
  const auto end =
      HostRoot().Resolve(path, [&names](const std::string& directory, const std::string& name) {
        names[directory].insert(name);
      });
  if (!end || end->type != FileType::kDirectory) return std::nullopt;
  return end->path;
}

}  // namespace

void FindDecisiveNames(const std::string& path, DecisiveNames& names) {
  const auto directory = Follow(path, names);
  if (!directory) return;
  names[*directory].insert("");
  std::error_code error;
  fs::directory_iterator entries(*directory, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    std::error_code gone;
    if (entries->is_symlink(gone)) Follow(entries->path().native(), names);
  }
}

Result<std::unique_ptr<PathWatch>> PathWatch::Create(Loop& loop, ThreadPool& pool,
                                                     const std::vector<std::string>& paths,
                                                     std::function<void()> on_change) {
  std::vector<std::string> absolute;
  std::vector<Error> lost;
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::path full = fs::absolute(path, error);
    if (error) {  // an empty path would mean the root
      lost.push_back({ErrorKind::kUnavailable,
                      Format("cannot watch {}: the working directory was removed ({})", path,
                             error.message())});
    } else {
      absolute.push_back(full);
    }
  }
  std::unique_ptr<PathWatch> watch(
      new PathWatch(loop, pool, std::move(absolute), std::move(on_change)));
  watch->lost_ = std::move(lost);
  watch->directories_ = TRY(DirWatch::Create(
      loop,
      [self = watch.get()](const std::string& directory, std::string_view name) {
        self->OnEvent(directory, name);
      },
      DirWatch::Events::kNamesAndWrites));
  return watch;
}

PathWatch::PathWatch(Loop& loop, ThreadPool& pool, std::vector<std::string> paths,
                     std::function<void()> on_change)
    : loop_(loop), pool_(pool), paths_(std::move(paths)), on_change_(std::move(on_change)) {}

/// Repeats lookup and watch until the result is stable, because a component that changed before its
/// directory was watched may lead elsewhere. Paths that change faster than that produce events
/// anyway, so the number of attempts is limited.
PathWatch::Found PathWatch::FindAndAdd(const std::vector<std::string>& paths,
                                       const DirWatch::Adder& adder) {
  Found found;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    Found next;
    for (const std::string& path : paths) FindDecisiveNames(path, next.names);
    std::set<std::string> directories;
    for (const auto& [directory, names] : next.names) directories.insert(directory);
    next.added = adder.Add(directories);
    const bool is_same =
        next.names == found.names &&
        std::ranges::equal(next.added, found.added, [](const auto& one, const auto& other) {
          return one.second.has_value() == other.second.has_value() &&
                 (!one.second || *one.second == *other.second);
        });
    found = std::move(next);
    if (is_same) break;
  }
  return found;
}

void PathWatch::Watch(std::function<void()> done) {
  if (done) next_callbacks_.push_back(std::move(done));
  if (std::exchange(finding_, true)) return;
  callbacks_ = std::exchange(next_callbacks_, {});
  if (std::exchange(reports_change_, false)) callbacks_.push_back(on_change_);
  pool_.Run([paths = paths_, adder = directories_->adder()] { return FindAndAdd(paths, adder); },
            lifetime_.Guard([this](Found found) { OnFound(std::move(found)); }));
}

void PathWatch::OnFound(Found found) {
  finding_ = false;
  std::set<std::string> directories;
  for (const auto& [directory, names] : found.names) directories.insert(directory);
  names_ = std::move(found.names);
  directories_->Retain(directories);
  failed_ = lost_;
  auto failed = directories_->Merge(found.added).failed;
  failed_.insert(failed_.end(), std::make_move_iterator(failed.begin()),
                 std::make_move_iterator(failed.end()));
  for (const auto& callback : std::exchange(callbacks_, {})) callback();
  if (!next_callbacks_.empty() || reports_change_) Watch(nullptr);
}

void PathWatch::OnEvent(const std::string& directory, std::string_view name) {
  const auto names = names_.find(directory);
  if (names == names_.end()) return;
  if (!name.empty() && !names->second.contains(name) && !names->second.contains("")) return;

  const Loop::Time now = loop_.Now();
  if (!first_event_) first_event_ = now;
  const auto left = *first_event_ + kMaxSettle - now;
  if (left <= Loop::Duration::zero()) return;  // the report is due
  settled_ = loop_.After(std::min<Loop::Duration>(kSettle, left), [this] {
    first_event_.reset();
    // Watch the current targets before they are read, so that no change in between is missed.
    reports_change_ = true;
    Watch(nullptr);
  });
}

}  // namespace patchbay
