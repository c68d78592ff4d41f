#include "dra/claim_lock.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/format.h"
#include "base/path.h"
#include "dra/sha256.h"

namespace patchbay {
namespace {

constexpr std::string_view kLockCure =
    "; instances of the driver lock claims in this file: the directory of the driver must be a "
    "writable directory of the host";

Failure CannotLock(const std::string& path, int error) {
  Failure failure = FailErrno(Format("cannot lock {}", path), error);
  failure.value().message += kLockCure;
  return failure;
}

/// Returns the byte of the file that is the lock of `name`, which can be text of a device.
off_t OffsetOf(std::string_view name) {
  std::uint64_t offset = 0;
  std::memcpy(&offset, Sha256(name).data(), sizeof offset);
  return static_cast<off_t>(offset >> 2U);
}

}  // namespace

Result<std::shared_ptr<ClaimLock>> ClaimLock::Open(const std::string& path,
                                                   std::shared_ptr<Table> table) {
  const auto open_file = [&] {
    return UniqueFd(open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  };
  UniqueFd file = open_file();
  if (!file && errno == ENOENT && mkdir(DirectoryOf(path).c_str(), 0750) == 0) file = open_file();
  if (!file) return CannotLock(path, errno);
  return std::make_shared<ClaimLock>(path, std::move(file), std::move(table));
}

ClaimLock::~ClaimLock() {
  const std::lock_guard lock(table_->mutex);
  for (const off_t at : locked_) table_->locked.erase(at);
}

/// Locks that belong to the open file, not to the process, exclude calls of the same process too.
Result<bool> ClaimLock::Set(off_t at, short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = at;
  lock.l_len = 1;
  if (fcntl(file_.get(), F_OFD_SETLK, &lock) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return CannotLock(path_, errno);
}

Result<bool> ClaimLock::LockAt(off_t at) {
  {
    const std::lock_guard lock(table_->mutex);
    if (!table_->locked.insert(at).second) return false;
  }
  locked_.insert(at);
  auto locked = Set(at, F_WRLCK);
  if (!locked || !*locked) static_cast<void>(UnlockAt(at));
  return locked;
}

Status ClaimLock::UnlockAt(off_t at) {
  TRY(Set(at, F_UNLCK));
  locked_.erase(at);
  const std::lock_guard lock(table_->mutex);
  table_->locked.erase(at);
  return {};
}

/// A lock of a file that others cannot open excludes no other process.
Status ClaimLock::CheckCurrent() const {
  struct stat own;
  struct stat there;
  if (fstat(file_.get(), &own) == 0 && stat(path_.c_str(), &there) == 0 &&
      own.st_ino == there.st_ino && own.st_dev == there.st_dev) {
    return {};
  }
  return Fail(ErrorKind::kUnavailable,
              Format("{} was deleted during the call; the kubelet will try again", path_));
}

Result<bool> ClaimLock::TryLock(std::span<const std::string> names) {
  std::vector<off_t> added;
  Result<bool> locked = true;
  for (const std::string& name : names) {
    const off_t at = OffsetOf(name);
    if (locked_.contains(at)) continue;
    locked = LockAt(at);
    if (!locked || !*locked) break;
    added.push_back(at);
  }
  if (locked && *locked) {
    const Status current = CheckCurrent();
    if (current) return true;
    locked = Failure(current.error());
  }
  for (const off_t earlier : added) TRY(UnlockAt(earlier));
  return locked;
}

}  // namespace patchbay
