#include "inventory/host_lookups.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/format.h"

namespace patchbay {

/// The lookups that have not returned, in their order. Shared with their threads, which may never
/// return.
class HostLookups::Paths {
 public:
  using Lookup = std::uint64_t;

  /// Returns nothing if too many hang.
  std::optional<Lookup> Begin() {
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    const auto hanging = std::ranges::count_if(
        begun_, [&](const auto& each) { return now - each.second.at >= std::chrono::seconds(1); });
    if (hanging >= static_cast<std::ptrdiff_t>(kMaxHanging)) return std::nullopt;
    begun_.emplace(++last_, Begun{now});
    return last_;
  }
  void Set(Lookup lookup, const std::string& path) {
    const std::lock_guard lock(mutex_);
    begun_.at(lookup).path = path;
  }
  void End(Lookup lookup) {
    const std::lock_guard lock(mutex_);
    begun_.erase(lookup);
    ended_.notify_all();
  }
  /// Waits until the lookup has ended, for at most `limit`. Returns its path if it has not.
  std::optional<std::string> Await(Lookup lookup, std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    if (ended_.wait_for(lock, limit, [&] { return !begun_.contains(lookup); })) return std::nullopt;
    return begun_.at(lookup).path;
  }
  std::string First() const {
    const std::lock_guard lock(mutex_);
    return begun_.empty() ? "a path" : begun_.begin()->second.path;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  struct Begun {
    std::chrono::steady_clock::time_point at;
    std::string path = "a path";
  };
  std::map<Lookup, Begun> begun_;
  Lookup last_ = 0;
};

HostLookups::HostLookups(AllocationHost host, std::chrono::milliseconds limit)
    : host_(std::move(host)), limit_(limit), paths_(std::make_shared<Paths>()) {}

/// Two threads: one that may hang, and one that waits for it.
void HostLookups::Run(std::function<void(const AllocationContext&)> work,
                      std::function<void()> then, std::function<void(std::string why)> on_late) {
  constexpr const char* kCure = "check that the server of the mount can be reached, or unmount it";
  const auto lookup = paths_->Begin();
  if (!lookup) {
    return on_late(Format("{} lookups hang, the first of {}; its file system is not responding: {}",
                          kMaxHanging, paths_->First(), kCure));
  }
  auto thread = StartThread([paths = paths_, lookup = *lookup, host = host_, work] {
    work(AllocationOn(host, [&](const std::string& path) { paths->Set(lookup, path); }));
    paths->End(lookup);
  });
  Status started;
  if (thread) {
    thread->detach();
    started = threads_.Run([paths = paths_, lookup = *lookup, limit = limit_, kCure,
                            then = std::move(then), on_late](const JobThreads::Owner& owner) {
      const auto hangs_at = paths->Await(lookup, limit);
      if (!hangs_at) return owner.Call(then);
      owner.Call([&] {
        on_late(Format("timed out looking up {} after {} s; its file system is not responding: {}",
                       *hangs_at, std::chrono::duration<double>(limit).count(), kCure));
      });
    });
  } else {
    paths_->End(*lookup);
    started = tl::unexpected(thread.error());
  }
  if (!started) on_late(Format("a path lookup that may hang: {}", started.error().message));
}

}  // namespace patchbay
