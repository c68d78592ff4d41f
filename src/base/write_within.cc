#include "base/write_within.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>

namespace patchbay {
namespace {

using WriteClock = std::chrono::steady_clock;

/// A pipe that poll(2) reports as writable accepts this many bytes without blocking.
constexpr std::size_t kNeverWaits = PIPE_BUF;

/// Waits until `fd` accepts a few bytes or the other end is closed. Returns false at `deadline` and
/// on errors.
bool AwaitWritable(int fd, WriteClock::time_point deadline) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - WriteClock::now());
    pollfd ready = {fd, POLLOUT, 0};
    const int wait = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
    const int count = poll(&ready, 1, wait);
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) return false;
    if (WriteClock::now() >= deadline) return false;
  }
}

}  // namespace

bool WriteWithin(int fd, std::string_view text, std::chrono::milliseconds longest) {
  const auto deadline = WriteClock::now() + longest;
  while (!text.empty()) {
    if (!AwaitWritable(fd, deadline)) return false;
    const ssize_t count = write(fd, text.data(), std::min(text.size(), kNeverWaits));
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if ((errno != EINTR && errno != EAGAIN) || WriteClock::now() >= deadline) {
      return false;
    }
  }
  return true;
}

}  // namespace patchbay
