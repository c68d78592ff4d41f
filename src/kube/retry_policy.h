#pragma once

#include <chrono>
#include <cstdint>
#include <random>

#include "kube/api_request.h"

namespace patchbay {

/// The way to continue after a failed request.
enum class ApiRetry {
  kLater,    ///< the same request again after a delay
  kReread,   ///< 409: read the object again, and decide again
  kRelist,   ///< 410: the resource version is too old; list again
  kRejected  ///< the request cannot succeed until an administrator or the caller changes something
};

/// Returns the way to continue after `error`. Pure.
ApiRetry RetryFor(const ApiError& error);

/// Computes the delay before the next attempt: random between 0 and a limit, so that the clients of
/// many nodes do not return at once ("full jitter"). The limit starts at kFirst and doubles with
/// each failure up to kLongest. The delay after a rejected request is
/// between half of kLongest and kLongest, because an administrator may change something.
/// Retry-After is the minimum. A value; not thread-safe.
class RetryPolicy {
 public:
  static constexpr std::chrono::milliseconds kFirst{200};
  static constexpr std::chrono::milliseconds kLongest = std::chrono::seconds(30);

  explicit RetryPolicy(std::uint32_t seed) : random_(seed) {}

  /// Records a failure and returns the delay.
  std::chrono::milliseconds NextDelay(const ApiError& error) {
    return NextDelay(error, RetryFor(error));
  }
  /// Does the same for an error after which the caller continues in another way.
  std::chrono::milliseconds NextDelay(const ApiError& error, ApiRetry retry);
  /// Records a success.
  void Reset() { failures_ = 0; }

 private:
  std::mt19937 random_;
  unsigned failures_ = 0;
};

}  // namespace patchbay
