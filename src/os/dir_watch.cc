#include "os/dir_watch.h"

#include <sys/inotify.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace patchbay {
namespace {

constexpr std::uint32_t kMask = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                                IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

/// Whether what was just made is a file to be written, which will be told of when it is closed; and
/// not another name of one that is complete.
bool WillBeClosed(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1;
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
    : fd_(std::move(fd)),
      on_change_(std::move(on_change)),
      events_(events),
      readable_(loop.OnReadable(fd_.get(), [this] { Read(); })) {}

DirWatch::Outcome DirWatch::Watch(const std::set<std::string>& directories) {
  std::vector<std::string> unwanted;
  for (const auto& [path, watch] : by_path_) {
    if (!directories.contains(path)) unwanted.push_back(path);
  }
  for (const std::string& path : unwanted) Drop(path);

  const std::uint32_t mask = events_ == Events::kNames ? kMask : kMask | IN_CLOSE_WRITE;
  Outcome outcome;
  for (const std::string& path : directories) {
    // Also where it is watched already: the directory at this path may be another one by now, of
    // which a watch that stayed with the old one would tell nothing. The same gives the same watch.
    const int watch = inotify_add_watch(fd_.get(), path.c_str(), mask);
    const int error = errno;
    const auto known = by_path_.find(path);
    if (known != by_path_.end()) {
      if (known->second == watch) continue;
      Drop(path);
    }
    if (watch < 0) {
      const std::string hint = error == ENOSPC ? " (see fs.inotify.max_user_watches)" : "";
      outcome.failed.push_back(FailErrno("cannot watch " + path + hint, error).value());
      if (outcome.failed.back().kind == ErrorKind::kNotFound) outcome.changed.push_back(path);
      continue;
    }
    by_path_.emplace(path, watch);
    by_watch_[watch].insert(path);
    outcome.changed.push_back(path);
  }
  return outcome;
}

void DirWatch::Drop(const std::string& path) {
  const int watch = by_path_.at(path);
  by_path_.erase(path);
  auto& paths = by_watch_.at(watch);
  paths.erase(path);
  if (!paths.empty()) return;
  by_watch_.erase(watch);
  inotify_rm_watch(fd_.get(), watch);
}

void DirWatch::Forget(int watch) {
  const auto at = by_watch_.find(watch);
  if (at == by_watch_.end()) return;
  for (const std::string& path : at->second) by_path_.erase(path);
  by_watch_.erase(at);
}

void DirWatch::Read() {
  // Collected first: a callback may call Watch.
  std::set<std::pair<std::string, std::string>> changes;
  alignas(inotify_event) std::array<char, 64 * 1024> buffer;
  const ssize_t length = read(fd_.get(), buffer.data(), buffer.size());
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
      if ((event.mask & IN_MOVE_SELF) != 0) inotify_rm_watch(fd_.get(), event.wd);
      Forget(event.wd);
    }
  }
  for (const auto& [directory, name] : changes) on_change_(directory, name);
}

}  // namespace patchbay
