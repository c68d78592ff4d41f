#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace patchbay {

/// The calls of the kubelet that are not answered yet. Thread-safe.
class PendingCalls {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Entries = std::multimap<Time, std::string>;  ///< resources, by when the call came

  Entries::iterator Begin(std::string resource, Time now) {
    const std::lock_guard lock(mutex_);
    return entries_.emplace(now, std::move(resource));
  }
  void End(Entries::iterator entry) {
    const std::lock_guard lock(mutex_);
    entries_.erase(entry);
  }
  /// The call that has waited longest.
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
