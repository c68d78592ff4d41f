#include "dra/claim_lock.h"

#include <fcntl.h>

#include <cerrno>
#include <vector>

#include "base/format.h"
#include "base/hash.h"

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

}  // namespace

Result<std::shared_ptr<ClaimLock>> ClaimLock::Open(const std::string& path) {
  UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return CannotLock(path, errno);
  return std::make_shared<ClaimLock>(path, std::move(file));
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

Result<bool> ClaimLock::TryLock(std::span<const std::string> names) {
  std::vector<off_t> added;
  for (const std::string& name : names) {
    const auto at = static_cast<off_t>(StableHash(name) >> 2U);
    if (locked_.contains(at)) continue;
    auto locked = Set(at, F_WRLCK);
    if (locked && *locked) {
      locked_.insert(at);
      added.push_back(at);
      continue;
    }
    for (const off_t earlier : added) {
      locked_.erase(earlier);
      TRY(Set(earlier, F_UNLCK));
    }
    return locked;
  }
  return true;
}

}  // namespace patchbay
