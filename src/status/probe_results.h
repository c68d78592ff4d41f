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

/// The last probe result of each device of a resource and the time of its next probe, by device ID.
/// Thread-safe. The duration of a call does not depend on the number of devices, except for Forget.
class ProbeResults {
 public:
  using Time = std::chrono::system_clock::time_point;

  void Set(const std::string& device, LastProbe probe) {
    const std::lock_guard lock(mutex_);
    probes_[device].last = std::move(probe);
  }
  /// Sets the time of the next probe; nothing if the device is not probed.
  void SetNext(const std::string& device, std::optional<Time> at) {
    const std::lock_guard lock(mutex_);
    if (at) {
      probes_[device].next = at;
    } else if (const auto found = probes_.find(device); found != probes_.end()) {
      found->second.next = at;
      if (!found->second.last) probes_.erase(found);
    }
  }
  std::optional<LastProbe> Find(const std::string& device) const {
    const std::lock_guard lock(mutex_);
    const auto found = probes_.find(device);
    return found == probes_.end() ? std::nullopt : found->second.last;
  }
  /// A time in the past means that the probe runs, or waits until others have ended.
  std::optional<Time> Next(const std::string& device) const {
    const std::lock_guard lock(mutex_);
    const auto found = probes_.find(device);
    return found == probes_.end() ? std::nullopt : found->second.next;
  }
  /// Drops the devices that were `removed`, and the results of those that were `replaced`.
  void Forget(const std::vector<std::string>& removed, const std::vector<std::string>& replaced) {
    const std::lock_guard lock(mutex_);
    for (const std::string& device : removed) probes_.erase(device);
    for (const std::string& device : replaced) {
      const auto found = probes_.find(device);
      if (found != probes_.end()) found->second.last.reset();
    }
  }
  void Clear() {
    decltype(probes_) ended;  // after the lock
    const std::lock_guard lock(mutex_);
    probes_.swap(ended);
  }

 private:
  struct Entry {
    std::optional<LastProbe> last;
    std::optional<Time> next;
  };
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Entry> probes_;
};

}  // namespace patchbay
