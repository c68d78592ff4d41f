#pragma once

#include <sys/resource.h>
#include <unistd.h>

namespace patchbay::test {

/// Prevents the process from starting threads, until AllowThreads. It becomes another user, because
/// the kernel does not limit root: only for a process that ends with the test. Returns false if
/// that is not possible.
inline bool ForbidThreads() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NPROC, &limit) != 0) return false;
  limit.rlim_cur = 0;
  return setrlimit(RLIMIT_NPROC, &limit) == 0 && setuid(65534) == 0;
}

inline void AllowThreads() {
  rlimit limit{};
  getrlimit(RLIMIT_NPROC, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NPROC, &limit);
}

}  // namespace patchbay::test
