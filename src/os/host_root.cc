#include "os/host_root.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>

#include "base/path.h"
#include "os/unique_fd.h"

namespace patchbay {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel

FileType TypeOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFCHR: return FileType::kCharacter;
    case S_IFBLK: return FileType::kBlock;
    case S_IFREG: return FileType::kRegular;
    case S_IFDIR: return FileType::kDirectory;
    case S_IFLNK: return FileType::kSymlink;
    default: return FileType::kOther;
  }
}

/// Pushes the components of `path` in front of those still to be walked.
void PushComponents(std::string_view path, std::vector<std::string>& pending) {
  const auto parts = SplitPath(path);
  pending.insert(pending.end(), parts.rbegin(), parts.rend());
}

}  // namespace

HostRoot::HostRoot(std::string root) : root_(std::move(root)) {
  while (root_.ends_with('/')) root_.pop_back();
}

std::string HostRoot::Local(std::string_view host_path) const {
  std::string local = root_;
  local += host_path;
  return local;
}

Result<HostNode> HostRoot::Resolve(std::string_view host_path) const {
  if (host_path.find('\0') != std::string_view::npos) {
    return Fail(ErrorKind::kInvalid, "a path may not hold a NUL byte");
  }
  std::vector<std::string> pending;  // the next component is at the back
  PushComponents(host_path, pending);
  HostNode node{"", FileType::kDirectory, 0, 0};
  int links = 0;
  while (!pending.empty()) {
    const std::string component = std::move(pending.back());
    pending.pop_back();
    if (component == ".") continue;
    if (component == "..") {
      const auto parent = node.path.rfind('/');
      node.path.resize(parent == std::string::npos ? 0 : parent);
      node.type = FileType::kDirectory;
      continue;
    }
    const std::string next = node.path + "/" + component;
    const std::string local = Local(next);
    struct stat info;
    if (lstat(local.c_str(), &info) != 0) {
      return FailErrno("cannot look at " + next, errno);
    }
    if (S_ISLNK(info.st_mode)) {
      if (++links > kMaxLinks) {
        return Fail(ErrorKind::kInvalid, std::string(host_path) + " leads through too many links");
      }
      char target[PATH_MAX];
      const ssize_t length = readlink(local.c_str(), target, sizeof target);
      if (length < 0) return FailErrno("cannot read the link " + next, errno);
      const std::string_view text(target, static_cast<std::size_t>(length));
      if (text.starts_with('/')) node.path.clear();
      PushComponents(text, pending);
      continue;
    }
    node.path = next;
    node.type = TypeOf(info.st_mode);
    node.major = major(info.st_rdev);
    node.minor = minor(info.st_rdev);
  }
  if (node.path.empty()) node.path = "/";
  return node;
}

bool HostRoot::Holds(const HostNode& node) const {
  struct stat info;
  return node.path.find('\0') == std::string::npos && lstat(Local(node.path).c_str(), &info) == 0 &&
         TypeOf(info.st_mode) == node.type && major(info.st_rdev) == node.major &&
         minor(info.st_rdev) == node.minor;
}

Result<std::vector<HostEntry>> HostRoot::List(
    std::string_view host_directory,
    const std::function<bool(const std::string& name)>& wanted) const {
  const HostNode directory = TRY(Resolve(host_directory));
  const std::string what = "cannot read the directory " + directory.path;
  UniqueFd fd(open(Local(directory.path).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return FailErrno(what, errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(fd.get()), &closedir);
  if (!stream) return FailErrno(what, errno);
  const int directory_fd = fd.release();  // the stream's now

  std::vector<HostEntry> entries;
  while (true) {
    errno = 0;
    const dirent* entry = readdir(stream.get());
    if (entry == nullptr) {
      if (errno != 0) return FailErrno(what, errno);
      return entries;
    }
    std::string name = entry->d_name;
    if (name == "." || name == ".." || !wanted(name)) continue;
    struct stat info;
    if (fstatat(directory_fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;
      return FailErrno("cannot look at " + directory.path + "/" + name, errno);
    }
    entries.push_back({std::move(name), TypeOf(info.st_mode),
                       static_cast<unsigned>(major(info.st_rdev)),
                       static_cast<unsigned>(minor(info.st_rdev))});
  }
}

}  // namespace patchbay
