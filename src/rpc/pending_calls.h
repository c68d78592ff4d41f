#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace patchbay {

/// The calls of the kubelet without a response yet. Thread-safe.
class PendingCalls {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Entries =
      std::multimap<Time, std::string>;  ///< the resource or driver of each call, by its start

  Entries::iterator Begin(std::string subject, Time now) {
    const std::lock_guard lock(mutex_);
    return entries_.emplace(now, std::move(subject));
  }
  void End(Entries::iterator entry) {
    const std::lock_guard lock(mutex_);
    entries_.erase(entry);
  }
  /// Returns the oldest call.
  std::optional<std::pair<Time, std::string>> Oldest() const {
    const std::lock_guard lock(mutex_);
    if (entries_.empty()) return std::nullopt;
    return *entries_.begin();
  }

 private:
  mutable std::mutex mutex_;
  Entries entries_;
};

}  // namespace patchbay
