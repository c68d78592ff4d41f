#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
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
/// the process starts do not inherit the locks. Within this process, a Table has the locks as well:
/// a file that was deleted and created again does not know them.
///
/// The methods access the file system, which can hang: call them in a pool, one at a time.
class ClaimLock {
 public:
  struct Table {
    std::mutex mutex;
    std::set<off_t> locked;
  };

  /// Opens the file, and creates it and its directory, but not the parents of that. Locks nothing.
  /// Fails with kUnavailable or kNotFound.
  static Result<std::shared_ptr<ClaimLock>> Open(const std::string& path,
                                                 std::shared_ptr<Table> table);
  ~ClaimLock();
  ClaimLock(const ClaimLock&) = delete;
  ClaimLock& operator=(const ClaimLock&) = delete;

  /// Locks more names, or none of them and returns false if another object has locked one. Does not
  /// wait, and keeps what is locked already. Fails with kUnavailable, also if the file was deleted:
  /// open it again.
  Result<bool> TryLock(std::span<const std::string> names);

  ClaimLock(std::string path, UniqueFd file, std::shared_ptr<Table> table)
      : path_(std::move(path)), file_(std::move(file)), table_(std::move(table)) {}

 private:
  Result<bool> LockAt(off_t at);
  Status UnlockAt(off_t at);
  Result<bool> Set(off_t at, short type);
  Status CheckCurrent() const;

  const std::string path_;
  const UniqueFd file_;
  const std::shared_ptr<Table> table_;
  std::set<off_t> locked_;
};

}  // namespace patchbay
