// A file is written under a temporary name that ends with neither .json nor .yaml, so that runtimes
// do not read it, and renamed. A process that was killed in between leaves the temporary file; the
// next write removes it when it is two minutes old, longer than hooks take that run before it is
// renamed. All names are looked up relative to a descriptor of the directory and without following
// links.

#include "cdi/file_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <memory>
#include <vector>

#include "base/format.h"
#include "os/unique_fd.h"

namespace patchbay {
namespace {

constexpr std::string_view kTemporaryPrefix = ".patchbay-";
constexpr std::string_view kTemporarySuffix = ".tmp";
constexpr std::time_t kStaleSeconds = 120;

/// Opens the directory; nothing with errno if that fails. Only the last component is not allowed
/// to be a link: /var/run is one.
UniqueFd OpenDirectory(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

UniqueFd OpenOrCreateDirectory(const std::string& path, mode_t mode) {
  UniqueFd directory = OpenDirectory(path);
  if (directory || errno != ENOENT) return directory;
  // Another process may have created it.
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return directory;
  return OpenDirectory(path);
}

/// Returns all names in a directory, "." and ".." among them, or an errno value.
tl::expected<std::vector<std::string>, int> NamesIn(int directory) {
  UniqueFd own(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own) return tl::unexpected(errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(own.get()), &closedir);
  if (!stream) return tl::unexpected(errno);
  own.release();  // belongs to the stream
  std::vector<std::string> names;
  for (errno = 0; const dirent* entry = readdir(stream.get()); errno = 0) {
    names.emplace_back(entry->d_name);
  }
  if (errno != 0) return tl::unexpected(errno);
  return names;
}

void RemoveStaleTemporaries(int directory) {
  const auto names = NamesIn(directory);
  if (!names) return;  // the next write tries again
  for (const std::string& name : *names) {
    struct stat info;
    if (!name.starts_with(kTemporaryPrefix) || !name.ends_with(kTemporarySuffix)) continue;
    if (fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (std::time(nullptr) - info.st_mtim.tv_sec > kStaleSeconds) {
      unlinkat(directory, name.c_str(), 0);
    }
  }
}

/// Returns the content of a regular file, or slightly more than `max` bytes of it if it is longer;
/// or an errno value.
tl::expected<std::string, int> ReadRegular(int directory, const std::string& name,
                                           std::size_t max) {
  const UniqueFd fd(
      openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info;
  if (!fd || fstat(fd.get(), &info) != 0) return tl::unexpected(errno);
  if (!S_ISREG(info.st_mode)) return tl::unexpected(EINVAL);
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() <= max) {
    const ssize_t length = read(fd.get(), buffer.data(), buffer.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return tl::unexpected(errno);
    if (length == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(length));
  }
  return text;
}

/// Returns whether ReadRegular failed because the file is a link, a directory, a socket or a
/// device, which Write never creates.
bool IsOtherType(int error) {
  return error == ELOOP || error == EINVAL || error == ENXIO || error == ENODEV;
}

/// Returns 0 or an errno value.
int WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t length = write(fd, text.data(), text.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(length));
  }
  return 0;
}

/// Writes a temporary file and returns its name, or an errno value. Leaves nothing behind if it
/// fails.
tl::expected<std::string, int> WriteNew(int directory, std::string_view text, mode_t mode,
                                        bool is_durable) {
  RemoveStaleTemporaries(directory);
  std::uint64_t random = 0;
  while (getrandom(&random, sizeof random, 0) < 0 && errno == EINTR) {
  }
  std::string name = Format("{}{:016x}{}", kTemporaryPrefix, random, kTemporarySuffix);
  const UniqueFd fd(
      openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return tl::unexpected(errno);
  int error = WriteAll(fd.get(), text);
  // The umask does not apply to fchmod.
  if (error == 0 && fchmod(fd.get(), mode) != 0) error = errno;
  if (error == 0 && is_durable && fsync(fd.get()) != 0) error = errno;
  if (error == 0) return name;
  unlinkat(directory, name.c_str(), 0);
  return tl::unexpected(error);
}

}  // namespace

Failure FileDirectory::CannotWrite(const std::string& name, int error) const {
  Failure failure = FailErrno(Format("cannot write {}", PathOf(name)), error);
  failure.value().kind = ErrorKind::kUnavailable;
  const bool is_full = error == ENOSPC || error == EDQUOT;
  std::string& message = failure.value().message;
  if (error == ENOTDIR) message += "; replace it by a directory, not by a link";
  message.append(is_full           ? "; free space or inodes of its file system"
                 : error == EISDIR ? "; remove this directory"
                                   : settings_.cure);
  return failure;
}

Failure FileDirectory::CannotRead(const std::string& path, int error) const {
  Failure failure = FailErrno("cannot read " + path, error);
  std::string& message = failure.value().message;
  if (error == ENOTDIR) {
    message += Format("; replace {} by a directory, not by a link", path_);
  } else if (error != ENOENT) {
    message += "; check its permissions, and the kernel log for errors of its file system";
  }
  return failure;
}

Status FileDirectory::WriteText(const std::string& name, std::string_view text,
                                bool is_durable) const {
  const UniqueFd directory = OpenOrCreateDirectory(path_, settings_.directory_mode);
  if (!directory) return CannotWrite(name, errno);
  if (const auto current = ReadRegular(directory.get(), name, text.size());
      current && *current == text) {
    return {};
  }
  const auto temporary = WriteNew(directory.get(), text, settings_.mode, is_durable);
  if (!temporary) return CannotWrite(name, temporary.error());
  if (renameat(directory.get(), temporary->c_str(), directory.get(), name.c_str()) != 0) {
    const int error = errno;
    unlinkat(directory.get(), temporary->c_str(), 0);
    return CannotWrite(name, error);
  }
  if (is_durable) fsync(directory.get());  // not every file system supports it
  return {};
}

Result<std::string> FileDirectory::WriteTemporary(std::string_view text) const {
  const UniqueFd directory = OpenOrCreateDirectory(path_, settings_.directory_mode);
  auto temporary =
      directory ? WriteNew(directory.get(), text, settings_.mode, false) : tl::unexpected(errno);
  if (temporary) return *std::move(temporary);
  return CannotWrite(Format("{}*{}", kTemporaryPrefix, kTemporarySuffix), temporary.error());
}

Status FileDirectory::Publish(const std::string& temporary, const std::string& name) const {
  const UniqueFd directory = OpenDirectory(path_);
  if (directory &&
      renameat(directory.get(), temporary.c_str(), directory.get(), name.c_str()) == 0) {
    return {};
  }
  return CannotWrite(name, errno);
}

Result<std::string> FileDirectory::ReadText(const std::string& name, std::size_t max) const {
  const UniqueFd directory = OpenDirectory(path_);
  if (!directory) return CannotRead(PathOf(name), errno);
  auto text = ReadRegular(directory.get(), name, max);
  if (text && text->size() <= max) return *std::move(text);
  if (text) return Fail(ErrorKind::kInvalid, PathOf(name) + " is too large");
  if (IsOtherType(text.error())) {
    return Fail(ErrorKind::kInvalid, PathOf(name) + " is not a regular file");
  }
  return CannotRead(PathOf(name), text.error());
}

Result<FileDirectory::Listing> FileDirectory::List(std::string_view begin,
                                                   std::string_view end) const {
  Listing listing;
  const UniqueFd directory = OpenDirectory(path_);
  if (!directory && errno == ENOENT) return listing;
  struct stat info;
  if (!directory || fstat(directory.get(), &info) != 0) {
    return CannotRead(path_, errno);
  }
  listing.inode = info.st_ino;
  auto names = NamesIn(directory.get());
  if (!names) return CannotRead(path_, names.error());
  for (std::string& name : *names) {
    if (!name.starts_with(begin) || !name.ends_with(end)) continue;
    if (fstatat(directory.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    constexpr std::int64_t kNanoseconds = 1'000'000'000;
    listing.files.emplace(
        std::move(name),
        Stamp{info.st_ino, info.st_size, info.st_ctim.tv_sec * kNanoseconds + info.st_ctim.tv_nsec,
              info.st_mtim.tv_sec});
  }
  return listing;
}

Status FileDirectory::Remove(const std::string& name) const {
  const UniqueFd directory = OpenDirectory(path_);
  if (!directory && errno == ENOENT) return {};
  if (directory && (unlinkat(directory.get(), name.c_str(), 0) == 0 || errno == ENOENT)) return {};
  return FailErrno(Format("cannot remove {}; remove it by hand", PathOf(name)), errno);
}

}  // namespace patchbay
