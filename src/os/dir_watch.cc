#include "os/dir_watch.h"

#include <sys/inotify.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "os/cached_lookup.h"

namespace patchbay {
namespace {

constexpr std::uint32_t kMask = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                                IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

/// Returns whether a name that was just created is a new regular file, which is reported when its
/// writer closes it, and not another hard link to a complete file. A new file is in the kernel's
/// caches. If it is not found there, it counts as complete, because the loop must not wait for the
/// file system.
bool WillBeClosed(const std::string& path) {
  const auto file = LookUpCached("", path, LastLink::kKeep);
  return file && S_ISREG(file->mode) && file->links == 1;
}

}  // namespace

Result<std::unique_ptr<DirWatch>> DirWatch::Create(Loop& loop, OnChange on_change, Events events) {
  UniqueFd fd(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!fd) {
    return FailErrno("cannot create an inotify instance (see fs.inotify.max_user_instances)",
                     errno);
  }
  return std::unique_ptr<DirWatch>(new DirWatch(loop, std::move(fd), std::move(on_change), events));
}

DirWatch::DirWatch(Loop& loop, UniqueFd fd, OnChange on_change, Events events)
    : on_change_(std::move(on_change)), events_(events) {
  adder_.fd_ = std::make_shared<const UniqueFd>(std::move(fd));
  adder_.mask_ = events == Events::kNames ? kMask : kMask | IN_CLOSE_WRITE;
  readable_ = loop.OnReadable(adder_.fd_->get(), [this] { Read(); });
}

DirWatch::Added DirWatch::Adder::Add(const std::set<std::string>& directories) const {
  Added added;
  for (const std::string& path : directories) {
    // Add the watch even if the path is watched: another directory may have replaced the old one,
    // whose watch would report nothing about it. For the same directory the kernel returns the same
    // watch descriptor.
    const int watch = inotify_add_watch(fd_->get(), path.c_str(), mask_);
    if (watch >= 0) {
      added.emplace(path, watch);
      continue;
    }
    const std::string hint = errno == ENOSPC ? " (see fs.inotify.max_user_watches)" : "";
    added.emplace(path, FailErrno("cannot watch " + path + hint, errno));
  }
  return added;
}

DirWatch::Outcome DirWatch::Merge(const Added& added) {
  Outcome outcome;
  for (const auto& [path, watch] : added) {
    const auto known = by_path_.find(path);
    if (known != by_path_.end()) {
      if (watch && known->second == *watch) continue;
      Drop(path);
    }
    if (!watch) {
      outcome.failed.push_back(watch.error());
      if (watch.error().kind == ErrorKind::kNotFound) outcome.changed.push_back(path);
      continue;
    }
    by_path_.emplace(path, *watch);
    by_watch_[*watch].insert(path);
    outcome.changed.push_back(path);
  }
  return outcome;
}

void DirWatch::Retain(const std::set<std::string>& directories) {
  std::vector<std::string> unwanted;
  for (const auto& [path, watch] : by_path_) {
    if (!directories.contains(path)) unwanted.push_back(path);
  }
  for (const std::string& path : unwanted) Drop(path);
}

DirWatch::Outcome DirWatch::Watch(const std::set<std::string>& directories) {
  Retain(directories);
  return Merge(adder_.Add(directories));
}

void DirWatch::Drop(const std::string& path) {
  const int watch = by_path_.at(path);
  by_path_.erase(path);
  auto& paths = by_watch_.at(watch);
  paths.erase(path);
  if (!paths.empty()) return;
  by_watch_.erase(watch);
  inotify_rm_watch(adder_.fd_->get(), watch);
}

void DirWatch::Forget(int watch) {
  const auto at = by_watch_.find(watch);
  if (at == by_watch_.end()) return;
  for (const std::string& path : at->second) by_path_.erase(path);
  by_watch_.erase(at);
}

void DirWatch::Read() {
  // Collect the changes first, because a callback may call Watch.
  std::set<std::pair<std::string, std::string>> changes;
  alignas(inotify_event) std::array<char, 64 * 1024> buffer;
  const ssize_t length = read(adder_.fd_->get(), buffer.data(), buffer.size());
  for (ssize_t at = 0; at < length;) {
    inotify_event event;
    std::memcpy(&event, buffer.data() + at, sizeof event);
    const char* name = buffer.data() + at + sizeof event;
    at += static_cast<ssize_t>(sizeof event + event.len);

    if ((event.mask & IN_Q_OVERFLOW) != 0) {
      for (const auto& [path, watch] : by_path_) changes.emplace(path, "");
      continue;
    }
    const auto paths = by_watch_.find(event.wd);
    if (paths == by_watch_.end()) continue;
    const bool self = (event.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) != 0;
    const bool awaits_close = events_ == Events::kNamesAndWrites && (event.mask & IN_CREATE) != 0;
    for (const std::string& path : paths->second) {
      if (awaits_close && WillBeClosed(path + "/" + name)) continue;
      changes.emplace(path, self ? "" : name);
    }
    if (self) {
      if ((event.mask & IN_MOVE_SELF) != 0) inotify_rm_watch(adder_.fd_->get(), event.wd);
      Forget(event.wd);
    }
  }
  for (const auto& [directory, name] : changes) on_change_(directory, name);
}

}  // namespace patchbay
