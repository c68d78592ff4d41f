#include "cli/access_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/ascii.h"
#include "base/diagnostics.h"
#include "base/path.h"
#include "model/snapshot.h"
#include "os/unique_fd.h"

namespace patchbay {
namespace {

constexpr int kMaxLinks = 40;  // MAXSYMLINKS of the kernel

Barrier BarrierOf(int error) {
  switch (error) {
    case ENOENT:
    case ENODEV: return Barrier::kMissing;
    case ENOTDIR: return Barrier::kNoDirectory;
    case EACCES: return Barrier::kNoRight;
    case EPERM: return Barrier::kForbidden;
    case ELOOP: return Barrier::kTooManyLinks;
    default: return Barrier::kFailure;
  }
}

/// Tries to read a file or directory that was resolved, and returns the obstacle.
Obstacle InReading(const HostRoot& host, const HostNode& node) {
  const bool is_directory = node.type == FileType::kDirectory;
  if (!is_directory && node.type != FileType::kRegular) return {};
  const std::string local = host.Local(node.path);
  const UniqueFd fd(open(local.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info;
  if (!fd) {
    const Barrier barrier = BarrierOf(errno);
    const bool is_for_nobody = barrier == Barrier::kNoRight && !is_directory &&
                               lstat(local.c_str(), &info) == 0 && (info.st_mode & 0444) == 0;
    return {is_for_nobody ? Barrier::kWriteOnly : barrier, node.path};
  }
  char byte;
  // A scan also needs search permission: without it, the entries cannot be examined.
  const bool is_readable = is_directory ? fstatat(fd.get(), "./.", &info, AT_SYMLINK_NOFOLLOW) == 0
                                        : read(fd.get(), &byte, 1) >= 0;
  if (is_readable) return {};
  return {BarrierOf(errno), node.path};
}

Obstacle Find(const HostRoot& host, const std::string& path, int links);

/// Returns the obstacle between a directory and an entry of it that cannot be resolved.
Obstacle InStep(const HostRoot& host, const HostNode& above, std::string_view name, int links) {
  if (above.type != FileType::kDirectory) return {Barrier::kNoDirectory, above.path};
  const std::string base = above.path == "/" ? "" : above.path;
  const std::string path = base + "/" + std::string(name);
  struct stat info;
  if (lstat(host.Local(path).c_str(), &info) != 0) {
    const Barrier barrier = BarrierOf(errno);
    return {barrier, barrier == Barrier::kNoRight ? above.path : path};
  }
  const auto link = host.ReadLink(above, name);
  if (!link) return {};
  if (links == kMaxLinks) return {Barrier::kTooManyLinks, path};
  return Find(host, link->starts_with('/') ? *link : base + "/" + *link, links + 1);
}

Obstacle Find(const HostRoot& host, const std::string& path, int links) {
  HostNode reached{"/", FileType::kDirectory, 0, 0};
  std::string prefix;
  for (const std::string_view name : SplitPath(path)) {
    prefix.append("/").append(name);
    auto next = host.Resolve(prefix);
    if (!next) return InStep(host, reached, name, links);
    reached = std::move(*next);
  }
  if (path.ends_with('/') && reached.type != FileType::kDirectory) {
    return {Barrier::kNoDirectory, reached.path};
  }
  return InReading(host, reached);
}

/// Returns the names that are most similar to `name`, the most similar first.
std::vector<std::string> Neighbors(const std::string& name, const std::vector<HostEntry>& entries) {
  constexpr std::size_t kMax = 3;
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const HostEntry& entry : entries) names.push_back(entry.name);
  std::sort(names.begin(), names.end(), IdLess);
  std::vector<std::string> neighbors;
  while (neighbors.size() < kMax) {
    const std::string_view nearest = Nearest(name, names);
    if (nearest.empty()) break;
    neighbors.emplace_back(nearest);
    std::erase(names, nearest);
  }
  return neighbors;
}

}  // namespace

std::vector<std::string> NamesLike(std::string_view pattern,
                                   const std::vector<HostEntry>& entries) {
  constexpr std::size_t kMax = 3, kMaxWrong = 2;
  const std::string_view prefix = pattern.substr(0, pattern.find_first_of("*?[{\\"));
  const auto begins = [](std::string_view name, std::string_view with) {
    return name.size() >= with.size() &&
           std::equal(with.begin(), with.end(), name.begin(),
                      [](char a, char b) { return ToLower(a) == ToLower(b); });
  };
  std::vector<std::string> names;
  for (std::size_t wrong = 0; wrong <= kMaxWrong && prefix.size() > wrong + 1; ++wrong) {
    for (const HostEntry& entry : entries) {
      if (begins(entry.name, prefix.substr(0, prefix.size() - wrong))) names.push_back(entry.name);
    }
    if (names.empty()) continue;
    std::sort(names.begin(), names.end(), IdLess);
    names.resize(std::min(names.size(), kMax));
    break;
  }
  return names;
}

Obstacle CheckAccess(const HostRoot& host, const std::string& path) {
  Obstacle obstacle = Find(host, path, 0);
  if (obstacle.barrier != Barrier::kMissing || obstacle.path == "/") return obstacle;
  const std::string directory = DirectoryOf(obstacle.path);
  const auto entries = host.List(directory, [](const std::string&) { return true; });
  if (!entries) return obstacle;
  if (entries->empty() && directory == "/dev") return {Barrier::kMissing, directory};
  obstacle.neighbors = Neighbors(std::string(BaseName(obstacle.path)), *entries);
  return obstacle;
}

}  // namespace patchbay
