#include "inventory/host_lookups.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "base/format.h"
#include "os/thread_limit.h"

namespace patchbay {
namespace {

/// More than one thread, so that a lookup that hangs does not delay the next one. Lookups use no
/// state of the resource, so that it can end without waiting for them.
constexpr ThreadPool::Options kLookupThreads{.max_running = 4,
                                             .patience = std::chrono::seconds(1),
                                             .max_overdue = 12,
                                             .max_idle = 1,
                                             .end_patience = std::chrono::milliseconds(0)};

}  // namespace

/// The current lookups, ordered by the start of their calls. Shared with the threads, which may
/// never return.
class HostLookups::Paths {
 public:
  std::uint64_t Begin() {
    const std::lock_guard lock(mutex_);
    paths_.emplace(next_, "");
    return next_++;
  }
  void Set(std::uint64_t call, const std::string& path) {
    const std::lock_guard lock(mutex_);
    paths_[call] = path;
  }
  void End(std::uint64_t call) {
    const std::lock_guard lock(mutex_);
    paths_.erase(call);
  }
  /// Returns the path of this call, or that of the oldest call if this one is queued.
  std::string HangsAt(std::uint64_t call) const {
    const std::lock_guard lock(mutex_);
    const auto own = paths_.find(call);
    if (own != paths_.end()) return own->second;
    return paths_.empty() ? "a path" : paths_.begin()->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::string> paths_;
  std::uint64_t next_ = 1;
};

HostLookups::HostLookups(AllocationHost host, std::chrono::milliseconds limit)
    : host_(std::move(host)),
      limit_(limit),
      paths_(std::make_shared<Paths>()),
      pool_(kLookupThreads) {}

void HostLookups::Run(std::function<void(const AllocationContext&)> work,
                      std::function<void()> then, std::function<void(std::string why)> on_late) {
  const auto call = std::make_shared<std::atomic<std::uint64_t>>(0);
  ThreadPool::Job job;
  job.work = [paths = paths_, call, host = host_, work = std::move(work)] {
    const std::uint64_t number = *call = paths->Begin();
    work(AllocationOn(host, [&](const std::string& path) { paths->Set(number, path); }));
    paths->End(number);
  };
  job.then = std::move(then);
  job.on_late = [paths = paths_, call, limit = limit_, on_late] {
    on_late(
        Format("timed out looking up {} after {} s; its file system is not responding: check that "
               "the server of the mount can be reached, or unmount it",
               paths->HangsAt(*call), std::chrono::duration<double>(limit).count()));
  };
  job.limit = limit_;
  job.needs_thread = true;
  if (!pool_.Run(std::move(job))) {
    on_late(
        Format("no thread is available for a path lookup that may hang; {}", kRaiseThreadLimit));
  }
}

}  // namespace patchbay
