// A file is written under a temporary name that ends with neither .json nor .yaml, so that runtimes
// do not read it, and renamed. A process that was killed in between leaves the temporary file; the
// next write removes it when it is a minute old. All names are looked up relative to a descriptor
// of the directory and without following links.

#include "cdi/cdi_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <memory>
#include <optional>

#include "base/format.h"
#include "os/unique_fd.h"

namespace patchbay {
namespace {

constexpr std::string_view kTemporaryPrefix = ".patchbay-";
constexpr std::string_view kTemporarySuffix = ".tmp";
constexpr std::time_t kStaleSeconds = 60;

constexpr std::string_view kCure =
    "; CDI files need a writable directory of the host that the container runtime reads: enable "
    "the component \"cdi\", with api = \"dra\" the component \"dra\", or set cdi_dir in [daemon]";

Failure CannotWrite(std::string_view path, int error) {
  Failure failure = FailErrno(Format("cannot write {}", path), error);
  failure.value().kind = ErrorKind::kUnavailable;
  const bool is_full = error == ENOSPC || error == EDQUOT;
  failure.value().message +=
      is_full            ? "; free space or inodes of its file system"
      : error == EISDIR  ? "; remove this directory"
      : error == ENOTDIR ? "; replace it by a directory, not by a link, or set cdi_dir in [daemon]"
                         : kCure;
  return failure;
}

/// Opens the directory; nothing with errno if that fails. Only the last component is not allowed
/// to be a link: /var/run is one.
UniqueFd OpenDirectory(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

UniqueFd OpenOrCreateDirectory(const std::string& path) {
  UniqueFd directory = OpenDirectory(path);
  if (directory || errno != ENOENT) return directory;
  mkdir(path.c_str(), 0755);  // another process may have done it
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

/// Returns at most `max` bytes of a regular file and one more, or an errno value.
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

std::string TemporaryName() {
  std::uint64_t random = 0;
  while (getrandom(&random, sizeof random, 0) < 0 && errno == EINTR) {
  }
  return Format("{}{:016x}{}", kTemporaryPrefix, random, kTemporarySuffix);
}

/// Writes a temporary file and passes its name to `use`, which returns 0 or an errno value, as this
/// function does. Leaves no temporary file.
template <class Use>
int WithTemporary(int directory, std::string_view text, Use use) {
  const std::string temporary = TemporaryName();
  const UniqueFd fd(openat(directory, temporary.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return errno;
  // The umask does not apply to fchmod. Runtimes run as root, but tools that list devices may not.
  int error = WriteAll(fd.get(), text);
  if (error == 0 && (fchmod(fd.get(), 0644) != 0 || fsync(fd.get()) != 0)) error = errno;
  if (error == 0) error = use(temporary);
  unlinkat(directory, temporary.c_str(), 0);
  return error;
}

/// Returns the errno value with which Replace would fail: for a directory, or for a file with the
/// immutable attribute. Returns 0 otherwise.
int CheckReplaceable(int directory, const std::string& name) {
  struct stat info;
  if (fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  if (S_ISDIR(info.st_mode)) return EISDIR;
  if (!S_ISREG(info.st_mode)) return 0;
  const UniqueFd fd(
      openat(directory, name.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  return !fd && errno == EPERM ? EPERM : 0;
}

/// Returns 0 or an errno value.
int Replace(int directory, const std::string& name, std::string_view text) {
  const int error = WithTemporary(directory, text, [&](const std::string& temporary) {
    return renameat(directory, temporary.c_str(), directory, name.c_str()) == 0 ? 0 : errno;
  });
  if (error != 0) return error;
  fsync(directory);  // not every file system supports it
  return 0;
}

}  // namespace

std::string CdiFileName(std::string_view kind, std::string_view id) {
  std::string name = Format("{}_{}.json", kind, id);
  std::ranges::replace(name, '/', '-');
  return name;
}

Status CdiDirectory::Write(const std::string& name, const CdiSpec& spec) const {
  const std::string text = TRY(CdiToJson(spec));
  const std::string file = Format("{}/{}", path_, name);
  const UniqueFd directory = OpenOrCreateDirectory(path_);
  if (!directory) return CannotWrite(file, errno);
  if (const auto current = ReadRegular(directory.get(), name, text.size());
      current && *current == text) {
    return {};
  }
  RemoveStaleTemporaries(directory.get());
  if (const int error = Replace(directory.get(), name, text)) return CannotWrite(file, error);
  return {};
}

Status CdiDirectory::CheckWritable() const {
  const UniqueFd directory = OpenOrCreateDirectory(path_);
  if (directory && faccessat(directory.get(), ".", W_OK | X_OK, AT_EACCESS) == 0) return {};
  return CannotWrite(path_, errno);
}

Status CdiDirectory::CheckRoom(const std::string& name, const CdiSpec& spec) const {
  const std::string text = TRY(CdiToJson(spec));
  const UniqueFd directory = OpenOrCreateDirectory(path_);
  if (!directory) return CannotWrite(path_, errno);
  const int error = WithTemporary(directory.get(), text, [](const std::string&) { return 0; });
  if (error != 0) return CannotWrite(path_, error);
  if (const int in_the_way = CheckReplaceable(directory.get(), name)) {
    return CannotWrite(Format("{}/{}", path_, name), in_the_way);
  }
  return {};
}

Result<CdiSpec> CdiDirectory::Read(const std::string& name) const {
  const std::string file = Format("{}/{}", path_, name);
  const UniqueFd directory = OpenDirectory(path_);
  if (!directory) return FailErrno(Format("cannot read {}", file), errno);
  const auto text = ReadRegular(directory.get(), name, kMaxCdiBytes);
  if (!text) {
    if (IsOtherType(text.error())) {
      return Fail(ErrorKind::kInvalid, Format("{} is not a regular file", file));
    }
    return FailErrno(Format("cannot read {}", file), text.error());
  }
  auto spec = CdiFromJson(*text);
  if (!spec) spec.error().message = Format("{}: {}", file, spec.error().message);
  return spec;
}

Result<std::vector<std::string>> CdiDirectory::List(std::string_view kind) const {
  const UniqueFd directory = OpenDirectory(path_);
  if (!directory && errno == ENOENT) return std::vector<std::string>();
  if (!directory) return FailErrno(Format("cannot read {}", path_), errno);
  std::string prefix = CdiFileName(kind, "");
  prefix.resize(prefix.size() - std::string_view(".json").size());
  auto names = NamesIn(directory.get());
  if (!names) return FailErrno(Format("cannot read {}", path_), names.error());
  std::erase_if(*names, [&](const std::string& name) {
    return !name.starts_with(prefix) || !name.ends_with(".json");
  });
  std::ranges::sort(*names);
  return *std::move(names);
}

Status CdiDirectory::Remove(const std::string& name) const {
  const UniqueFd directory = OpenDirectory(path_);
  if (!directory && errno == ENOENT) return {};
  if (directory && (unlinkat(directory.get(), name.c_str(), 0) == 0 || errno == ENOENT)) return {};
  return FailErrno(Format("cannot remove {}/{}; remove it by hand", path_, name), errno);
}

}  // namespace patchbay
