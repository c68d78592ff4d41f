#include "os/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

namespace patchbay {
namespace {

/// The limit from before RaiseDescriptorLimit. Global, because the limit belongs to the process.
std::optional<rlimit> limit_before;

}  // namespace

void OpenStandardDescriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // A descriptor with FD_CLOEXEC was opened after exec: gRPC 1.51 opens an eventfd when it is
    // loaded, and leaks it. Replace it.
    const int flags = fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) continue;
    // A read of a closed stdin is an error, not the end of a file. Without /dev/null, use a
    // descriptor on which writes fail, too.
    int null = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDWR);
    if (null < 0) null = open("/", O_PATH);
    if (null < 0 || null == fd) continue;
    dup2(null, fd);
    close(null);
  }
}

std::size_t DescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMaxDescriptors;
  return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur, kMaxDescriptors));
}

std::size_t RaiseDescriptorLimit() {
  rlimit limit{};
  // Use prlimit, because some seccomp filters allow it but reject setrlimit.
  if (prlimit(0, RLIMIT_NOFILE, nullptr, &limit) != 0) return DescriptorLimit();
  const rlimit raised{std::max(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, kMaxDescriptors)),
                      limit.rlim_max};
  if (prlimit(0, RLIMIT_NOFILE, &raised, nullptr) == 0) limit_before = limit;
  return DescriptorLimit();
}

void RestoreDescriptorLimit() {
  if (limit_before) prlimit(0, RLIMIT_NOFILE, &*limit_before, nullptr);
}

}  // namespace patchbay
