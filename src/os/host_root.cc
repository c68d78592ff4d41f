// Resolve walks a path component by component with lstat(2) and readlink(2), because the kernel
// would resolve an absolute link below the root of this process instead of the root of the host.
// The path of the result contains no links. Functions that open such a path use O_NOFOLLOW, in case
// a link has replaced the file since then, and Contents checks the file type again after open(2).
//
// ResolveCached and HoldsCached leave the walk to the kernel, see os/cached_lookup.h.

#include "os/host_root.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>

#include "base/format.h"
#include "base/path.h"
#include "os/cached_lookup.h"
#include "os/unique_fd.h"

namespace patchbay {
namespace {

constexpr int kMaxLinks = 40;  // the limit of the kernel, see path_resolution(7)

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

/// Pushes the components of `path` in front of the pending ones.
void PushComponents(std::string_view path, std::vector<std::string>& pending) {
  const auto parts = SplitPath(path);
  pending.insert(pending.end(), parts.rbegin(), parts.rend());
}

/// Returns the error of a system call. If the system denies access, the message names the file
/// whose permissions deny it, and what gives access.
Failure FailAccess(const std::string& what, int error, const std::string& file) {
  Failure failure = FailErrno(what, error);
  if (error == EACCES || error == EPERM) {
    failure.value().message += Format(
        "; allow this user to read {}, or run as root with CAP_DAC_READ_SEARCH; SELinux can "
        "deny it to root, too",
        file);
  }
  return failure;
}

Result<std::string> PathIn(const HostNode& directory, std::string_view name) {
  std::string path = directory.path == "/" ? "" : directory.path;
  path.append("/").append(name);
  if (IsShortestPath(path) && name.find('/') == std::string_view::npos) return path;
  return Fail(ErrorKind::kInvalid, path + " is not a name in " + directory.path);
}

Failure FailOpen(std::string_view path, int error) {
  Failure failure = FailErrno(Format("cannot open {}", path), error);
  if (error == EACCES || error == EPERM) failure.value().kind = ErrorKind::kPrecondition;
  return failure;
}

Failure NoRegularFile(const std::string& path) {
  return Fail(ErrorKind::kInvalid, path + " is not a regular file");
}

bool IsInContainer() {
  return std::getenv("KUBERNETES_SERVICE_HOST") != nullptr || access("/.dockerenv", F_OK) == 0 ||
         access("/run/.containerenv", F_OK) == 0;
}

}  // namespace

HostRoot::HostRoot(std::string root) : root_(std::move(root)) {
  while (root_.ends_with('/')) root_.pop_back();
}

bool IsSameFile(const HostNode& a, const HostNode& b) {
  return a.type == b.type && a.major == b.major && a.minor == b.minor &&
         (a.inode == b.inode || a.inode == 0 || b.inode == 0);
}

std::string HostRoot::Local(std::string_view host_path) const {
  std::string local = root_;
  local += host_path;
  return local;
}

bool HostRoot::CanSee(std::string_view host_path) const {
  static const bool is_in_container = IsInContainer();
  return !is_in_container || !root_.empty() || host_path.starts_with("/dev/") ||
         host_path.starts_with("/sys/");
}

Result<HostNode> HostRoot::Resolve(std::string_view host_path,
                                   const OnComponent& on_component) const {
  if (host_path.find('\0') != std::string_view::npos) {
    return Fail(ErrorKind::kInvalid, "a path cannot contain a NUL byte");
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
    if (on_component && node.type == FileType::kDirectory) {
      on_component(node.path.empty() ? "/" : node.path, component);
    }
    const std::string next = node.path + "/" + component;
    const std::string local = Local(next);
    struct stat info;
    if (lstat(local.c_str(), &info) != 0) {
      return FailAccess("cannot access " + next, errno, node.path.empty() ? "/" : node.path);
    }
    if (S_ISLNK(info.st_mode)) {
      if (++links > kMaxLinks) {
        return Fail(ErrorKind::kInvalid,
                    Format("cannot access {}: the link {} is a loop, or the end of a chain of more "
                           "than {} links",
                           host_path, next, kMaxLinks));
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
    node.inode = info.st_ino;
    node.gid = info.st_gid;
    node.uid = info.st_uid;
    node.mode = info.st_mode & 0777U;
  }
  if (node.path.empty()) node.path = "/";
  return node;
}

bool HostRoot::Holds(const HostNode& node) const {
  struct stat info;
  return node.path.find('\0') == std::string::npos && lstat(Local(node.path).c_str(), &info) == 0 &&
         IsSameFile(node, {"", TypeOf(info.st_mode), static_cast<unsigned>(major(info.st_rdev)),
                           static_cast<unsigned>(minor(info.st_rdev)), info.st_ino});
}

std::optional<HostNode> HostRoot::ResolveCached(std::string_view host_path) const {
  std::string path = host_path.starts_with('/') ? "" : "/";
  path += host_path;
  const auto file = LookUpCached(root_, path, LastLink::kFollow);
  // The path of a removed file is stale. A file outside the root has no host path.
  if (!file || file->links == 0 || !file->path.starts_with(root_ + "/")) return std::nullopt;
  return HostNode{file->path.substr(root_.size()),
                  TypeOf(file->mode),
                  file->major,
                  file->minor,
                  file->inode,
                  file->gid,
                  file->uid,
                  file->mode & 0777U};
}

bool HostRoot::HoldsCached(const HostNode& node) const {
  const auto file = LookUpCached(root_, node.path, LastLink::kKeep);
  return file && IsSameFile(node, {"", TypeOf(file->mode), file->major, file->minor, file->inode});
}

Result<std::vector<HostEntry>> HostRoot::List(
    std::string_view host_directory,
    const std::function<bool(const std::string& name)>& wanted) const {
  const HostNode directory = TRY(Resolve(host_directory));
  const std::string what = "cannot read the directory " + directory.path;
  UniqueFd fd(open(Local(directory.path).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return FailAccess(what, errno, directory.path);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(fd.get()), &closedir);
  if (!stream) return FailErrno(what, errno);
  const int directory_fd = fd.release();  // now owned by the stream

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
      return FailAccess("cannot access " + directory.path + "/" + name, errno, directory.path);
    }
    entries.push_back({std::move(name), TypeOf(info.st_mode),
                       static_cast<unsigned>(major(info.st_rdev)),
                       static_cast<unsigned>(minor(info.st_rdev)), info.st_ino});
  }
}

Result<std::uint64_t> HostRoot::FileSystemOf(const HostNode& file) const {
  struct stat info;
  if (lstat(Local(file.path).c_str(), &info) != 0) {
    return FailErrno("cannot access " + file.path, errno);
  }
  return info.st_dev;
}

Status HostRoot::TryOpen(std::string_view real_path) const {
  const UniqueFd fd(
      open(Local(real_path).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (fd || errno == EBUSY) return {};
  return FailOpen(real_path, errno);
}

Result<bool> HostRoot::TryOpenExclusively(const HostNode& disk) const {
  const UniqueFd fd(
      open(Local(disk.path).c_str(), O_RDONLY | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == EBUSY) return false;
  if (!fd) {
    const bool has_no_device = errno == ENXIO || errno == ENODEV || errno == ENOMEDIUM;
    Failure failure = FailOpen(disk.path, errno);
    if (has_no_device) failure.value().kind = ErrorKind::kNotFound;
    return failure;
  }
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return FailOpen(disk.path, errno);
  if (!IsSameFile(disk, {"", TypeOf(info.st_mode), static_cast<unsigned>(major(info.st_rdev)),
                         static_cast<unsigned>(minor(info.st_rdev)), info.st_ino})) {
    return Fail(ErrorKind::kUnavailable, disk.path + " was replaced while it was opened");
  }
  return true;
}

Result<std::string> HostRoot::ReadFile(std::string_view host_path, std::size_t max_bytes) const {
  const HostNode file = TRY(Resolve(host_path));
  if (file.type != FileType::kRegular) return NoRegularFile(file.path);
  return Contents(file.path, max_bytes);
}

Result<std::string> HostRoot::ReadFile(const HostNode& directory, std::string_view name,
                                       std::size_t max_bytes) const {
  const std::string path = TRY(PathIn(directory, name));
  struct stat info;
  if (lstat(Local(path).c_str(), &info) != 0) {
    return FailAccess("cannot access " + path, errno, directory.path);
  }
  if (S_ISLNK(info.st_mode)) return ReadFile(path, max_bytes);
  if (!S_ISREG(info.st_mode)) return NoRegularFile(path);
  return Contents(path, max_bytes);
}

Result<std::string> HostRoot::Contents(const std::string& resolved, std::size_t max_bytes) const {
  const std::string what = "cannot read " + resolved;
  const UniqueFd fd(
      open(Local(resolved).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return FailAccess(what, errno, resolved);
  struct stat info;  // check again: the file may have been replaced
  if (fstat(fd.get(), &info) != 0) return FailErrno(what, errno);
  if (!S_ISREG(info.st_mode)) return NoRegularFile(resolved);

  std::string text;
  std::array<char, 4096> buffer;
  while (true) {
    const ssize_t length = read(fd.get(), buffer.data(), buffer.size());
    if (length == 0) return text;
    if (length < 0) {
      if (errno == EINTR) continue;
      return FailErrno(what, errno == ENODEV ? ENOENT : errno);
    }
    text.append(buffer.data(), static_cast<std::size_t>(length));
    if (text.size() > max_bytes) {
      return Fail(ErrorKind::kInvalid,
                  Format("{} contains more than {} bytes", resolved, max_bytes));
    }
  }
}

Result<std::string> HostRoot::ReadLink(std::string_view host_path) const {
  const auto parts = SplitPath(host_path);
  if (parts.empty()) return Fail(ErrorKind::kInvalid, "/ is not a link");
  const std::string_view above(host_path.data(),
                               static_cast<std::size_t>(parts.back().data() - host_path.data()));
  return ReadLink(TRY(Resolve(above)), parts.back());
}

Result<std::string> HostRoot::ReadLink(const HostNode& directory, std::string_view name) const {
  const std::string path = TRY(PathIn(directory, name));
  char target[PATH_MAX];
  const ssize_t length = readlink(Local(path).c_str(), target, sizeof target);
  if (length >= 0) return std::string(target, static_cast<std::size_t>(length));
  if (errno == EINVAL) return Fail(ErrorKind::kInvalid, path + " is not a link");
  return FailErrno("cannot read the link " + path, errno);
}

}  // namespace patchbay
