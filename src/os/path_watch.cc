#include "os/path_watch.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "base/path.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as the kernel
constexpr int kMostTries = 10;

/// Follows `path` to its end. Returns the directory that it leads to, nothing if to something else.
std::optional<std::string> Follow(std::string_view path, DecisiveNames& names) {
  std::vector<std::string> pending;  // the next component is at the back
  const auto push = [&pending](std::string_view more) {
    const auto parts = SplitPath(more);
    pending.insert(pending.end(), parts.rbegin(), parts.rend());
  };
  push(path);
  std::string directory;  // "" for the root
  int links = 0;
  while (!pending.empty()) {
    const std::string name = std::move(pending.back());
    pending.pop_back();
    if (name == ".") continue;
    if (name == "..") {
      directory.resize(directory.empty() ? 0 : directory.rfind('/'));
      continue;
    }
    names[directory.empty() ? "/" : directory].insert(name);
    const std::string next = directory + "/" + name;
    std::error_code error;
    switch (fs::symlink_status(next, error).type()) {
      case fs::file_type::directory: directory = next; continue;
      case fs::file_type::symlink: break;
      default: return std::nullopt;
    }
    const std::string target = fs::read_symlink(next, error);
    if (error || ++links > kMostLinks) return std::nullopt;
    if (target.starts_with('/')) directory.clear();
    push(target);
  }
  return directory.empty() ? "/" : directory;
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

Result<std::unique_ptr<PathWatch>> PathWatch::Create(Loop& loop, std::vector<std::string> paths,
                                                     std::function<void()> on_change) {
  std::error_code unknown;
  for (std::string& path : paths) path = fs::absolute(path, unknown);
  std::unique_ptr<PathWatch> watch(new PathWatch(loop, std::move(paths), std::move(on_change)));
  watch->directories_ = TRY(DirWatch::Create(
      loop,
      [self = watch.get()](const std::string& directory, std::string_view name) {
        self->OnEvent(directory, name);
      },
      DirWatch::Events::kNamesAndWrites));
  watch->Watch();
  return watch;
}

PathWatch::PathWatch(Loop& loop, std::vector<std::string> paths, std::function<void()> on_change)
    : loop_(loop), paths_(std::move(paths)), on_change_(std::move(on_change)) {}

void PathWatch::Watch() {
  // What was changed before its directory was watched may lead elsewhere. Who changes it faster
  // than it can be looked at is seen to be at it.
  for (int tries = 0; tries < kMostTries; ++tries) {
    names_.clear();
    for (const std::string& path : paths_) FindDecisiveNames(path, names_);
    std::set<std::string> directories;
    for (const auto& [directory, names] : names_) directories.insert(directory);
    DirWatch::Outcome outcome = directories_->Watch(directories);
    failed_ = std::move(outcome.failed);
    if (outcome.changed.empty()) break;
  }
}

void PathWatch::OnEvent(const std::string& directory, std::string_view name) {
  const auto names = names_.find(directory);
  if (names == names_.end()) return;
  if (!name.empty() && !names->second.contains(name) && !names->second.contains("")) return;

  const Loop::Time now = loop_.Now();
  if (!first_event_) first_event_ = now;
  const auto left = *first_event_ + kLongestSettle - now;
  if (left <= Loop::Duration::zero()) return;  // it is about to be told
  settled_ = loop_.After(std::min<Loop::Duration>(kSettle, left), [this] {
    first_event_.reset();
    // Where the way leads now is watched before it is read, so that nothing falls in between.
    Watch();
    on_change_();
  });
}

}  // namespace patchbay
