#include "os/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "os/unique_fd.h"

namespace patchbay {
namespace {

/// Takes a lease, which prevents other processes from opening the file for writing until the
/// descriptor is closed; see fcntl(2). Returns whether a process already has the file open for
/// writing.
bool IsBeingWritten(int fd) {
  // A process that has to wait for the lease causes a signal to this process. Use SIGURG, which is
  // ignored by default.
  fcntl(fd, F_SETSIG, SIGURG);
  return fcntl(fd, F_SETLEASE, F_RDLCK) != 0 && errno == EAGAIN;
}

}  // namespace

Result<FileContent> ReadFileContent(const std::string& path, std::size_t max_bytes) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return FailErrno("cannot be read", errno);
  FileContent file;
  file.is_being_written = IsBeingWritten(fd.get());
  constexpr std::size_t kPart = 64 * 1024;
  while (file.text.size() <= max_bytes) {
    const std::size_t before = file.text.size();
    file.text.resize(before + kPart);
    const ssize_t length = read(fd.get(), file.text.data() + before, kPart);
    if (length < 0 && errno != EINTR) return FailErrno("cannot be read", errno);
    file.text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    if (length == 0) break;
  }
  file.text.shrink_to_fit();  // callers keep it
  return file;
}

}  // namespace patchbay
