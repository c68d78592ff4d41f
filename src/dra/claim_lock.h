#pragma once

#include <sys/types.h>

#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "os/unique_fd.h"

namespace patchbay {

/// Locks claims and devices by name against other calls, of this process and of other instances of
/// the driver. The locks are bytes of one file: names of equal hashes share a lock, which only
/// costs time. The kernel unlocks when the object is destroyed or the process ends; programs that
/// the process starts do not inherit the locks.
///
/// The methods access the file system, which can hang: call them in a pool, one at a time.
class ClaimLock {
 public:
  /// Opens the file in an existing directory, and creates it. Locks nothing. Fails with
  /// kUnavailable or kNotFound.
  static Result<std::shared_ptr<ClaimLock>> Open(const std::string& path);

  /// Locks more names, or none of them and returns false if another object has locked one. Does not
  /// wait, and keeps what is locked already. Fails with kUnavailable.
  Result<bool> TryLock(std::span<const std::string> names);

  ClaimLock(std::string path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}

 private:
  Result<bool> Set(off_t at, short type);

  const std::string path_;
  const UniqueFd file_;
  std::set<off_t> locked_;
};

}  // namespace patchbay
