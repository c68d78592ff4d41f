#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "status/counters.h"
#include "status/observer.h"

namespace patchbay {

/// The claims of one resource.
struct ClaimCounters {
  CountersByResult prepares, unprepares;
  /// The longest is the time limit of all hooks of a claim.
  Durations prepare_durations{std::chrono::seconds(40)};
};

/// The counters of the driver for Dynamic Resource Allocation. Thread-safe.
class DriverCounters final : public DriverObserver {
 public:
  void OnRpc(DriverRpc rpc, std::string_view code) override {
    calls_.at(static_cast<std::size_t>(rpc)).Count(code);
  }
  void OnHealthStreams(int open) override { health_streams_ = open; }
  void OnClaimPrepare(const std::string& resource, bool success,
                      std::chrono::nanoseconds duration) override {
    ClaimCounters& claims = ClaimsOf(resource);
    claims.prepares.of(success).Increment();
    claims.prepare_durations.Add(duration);
  }
  void OnClaimUnprepare(const std::string& resource, bool success) override {
    ClaimsOf(resource).unprepares.of(success).Increment();
  }

  const CallCounters& CallsOf(DriverRpc rpc) const {
    return calls_.at(static_cast<std::size_t>(rpc));
  }
  int health_streams() const { return health_streams_; }
  /// Returns the counters of a resource; "" is that of claims whose devices are not known.
  ClaimCounters& ClaimsOf(const std::string& resource) {
    const std::lock_guard lock(mutex_);
    return claims_[resource];
  }

 private:
  std::array<CallCounters, std::size(kAllDriverRpcs)> calls_;
  std::atomic<int> health_streams_ = 0;
  std::mutex mutex_;  ///< protects the map; its elements do not move
  std::map<std::string, ClaimCounters> claims_;
};

}  // namespace patchbay
