#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "health/probe.h"
#include "model/snapshot.h"

namespace patchbay {

/// The last probe of one device that ended.
struct LastProbe {
  std::chrono::system_clock::time_point at{};  ///< its end
  std::chrono::nanoseconds took{};
  ProbeResult result = ProbeResult::kError;
  std::string message = {};  ///< empty for a success
};

/// The last probe result of each device of a resource, by device ID. Thread-safe. The duration of a
/// call does not depend on the number of devices, except for Forget.
class ProbeResults {
 public:
  void Set(const std::string& device, LastProbe probe) {
    const std::lock_guard lock(mutex_);
    probes_.insert_or_assign(device, std::move(probe));
  }
  std::optional<LastProbe> Find(const std::string& device) const {
    const std::lock_guard lock(mutex_);
    const auto found = probes_.find(device);
    return found == probes_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Forgets these devices.
  void Forget(const std::vector<std::string>& devices) {
    const std::lock_guard lock(mutex_);
    for (const std::string& device : devices) probes_.erase(device);
  }
  void Clear() {
    decltype(probes_) ended;  // after the lock
    const std::lock_guard lock(mutex_);
    probes_.swap(ended);
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, LastProbe> probes_;
};

}  // namespace patchbay
