#include "hooks/disk_check.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/format.h"
#include "os/threads.h"

namespace patchbay {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// The time for which a busy disk is tried again: udev and partition tools open a new disk briefly.
constexpr std::chrono::seconds kBusyPatience{1};
constexpr milliseconds kBusyPause{50};
/// The time after the deadline for which the thread is awaited, which normally ends before it.
constexpr std::chrono::seconds kHangPatience{1};

/// The disks that a thread opens, and its result. The thread may hang, so it owns what it uses.
struct Opening {
  std::vector<HookDisk> disks;
  HostRoot host;
  std::shared_ptr<const Cancellation> cancellation;
  steady_clock::time_point give_up;  ///< then a disk that is busy fails
  UniqueFd over;                     ///< readable when the thread has written `outcome`
  HookOutcome outcome = {};
};

int PollTimeout(steady_clock::time_point until) {
  const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

/// Returns whether what `path` leads to is not busy.
Result<bool> IsFree(const HostRoot& host, const std::string& path, const DeviceNode& node) {
  const auto now = host.Resolve(path);
  if (!now && now.error().kind == ErrorKind::kNotFound) return true;
  if (!now) return Failure(now.error());
  if (!IsSameFile(*now, {"", node.type, node.major, node.minor, node.inode})) {
    return Fail(ErrorKind::kPrecondition,
                Format("{} is not the node of block device {}:{} any more, for which the hook was "
                       "planned; if a pod waits for it, delete the pod",
                       path, node.major, node.minor));
  }
  auto is_free = host.TryOpenExclusively(*now);
  // Neither is there anything to protect, nor could the hook open it.
  const bool is_unchecked = !is_free && is_free.error().kind != ErrorKind::kUnavailable;
  return is_unchecked ? true : is_free;
}

Status Check(const Opening& opening, const DeviceNode& node) {
  for (const std::string& path : {node.path, node.real_path}) {
    while (!TRY(IsFree(opening.host, path, node))) {
      pollfd cancelled{opening.cancellation->fd(), POLLIN, 0};
      if (steady_clock::now() < opening.give_up &&
          poll(&cancelled, 1, static_cast<int>(kBusyPause.count())) == 0) {
        continue;
      }
      return Fail(ErrorKind::kPrecondition,
                  Format("{0} is in use, and no hook runs for a disk in use: it, a partition or a "
                         "volume on it is mounted, is swap space or part of an array, or a program "
                         "has it open exclusively; see `lsblk {0}`, and unmount it, or exclude the "
                         "disk",
                         path));
    }
  }
  return {};
}

HookOutcome CheckAll(const Opening& opening) {
  for (const HookDisk& disk : opening.disks) {
    Status status = Check(opening, disk.node);
    if (status) continue;
    status.error().kind = ErrorKind::kPrecondition;
    return {.status = std::move(status), .id = disk.id};
  }
  return {};
}

HookOutcome Failed(const HookCall& call, std::string reason) {
  return {.status = Fail(ErrorKind::kPrecondition, std::move(reason)), .id = call.disks.front().id};
}

}  // namespace

HookOutcome CheckDisks(const HookCall& call, const HostRoot& host,
                       steady_clock::time_point deadline,
                       const std::shared_ptr<const Cancellation>& cancellation) {
  if (call.disks.empty()) return {};
  const auto opening = std::make_shared<Opening>(Opening{
      call.disks, host, cancellation, std::min(deadline, steady_clock::now() + kBusyPatience),
      UniqueFd(eventfd(0, EFD_CLOEXEC))});
  if (!opening->over) {
    return Failed(call, FailErrno("cannot create an eventfd", errno).value().message);
  }
  auto thread = StartThread([opening] {
    opening->outcome = CheckAll(*opening);
    eventfd_write(opening->over.get(), 1);
  });
  if (!thread) return Failed(call, Format("checking the disk: {}", thread.error().message));
  thread->detach();
  pollfd fds[] = {{opening->over.get(), POLLIN, 0}, {cancellation->fd(), POLLIN, 0}};
  while (poll(fds, std::size(fds), PollTimeout(deadline + kHangPatience)) < 0 && errno == EINTR) {
  }
  if (eventfd_t count = 0; (fds[0].revents & POLLIN) != 0) {
    eventfd_read(opening->over.get(), &count);
    return std::move(opening->outcome);
  }
  HookOutcome outcome = Failed(
      call, cancellation->triggered()
                ? "Patchbay is shutting down, or the resource was removed"
                : Format("opening {} to check whether it is in use has not returned; see the "
                         "kernel log",
                         call.disks.front().node.path));
  outcome.opening = std::shared_ptr<const UniqueFd>(opening, &opening->over);
  return outcome;
}

}  // namespace patchbay
