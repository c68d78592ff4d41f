#pragma once

#include <chrono>
#include <optional>

namespace patchbay {

/// The outcome of a List call to the PodResources API.
enum class PollOutcome {
  kAnswered,
  kRateLimited,    ///< too many requests from all clients; the last response stays valid
  kUnimplemented,  ///< the kubelet does not have this version of the service
  kNoSocket,
  kForbidden,   ///< this user has no permission to connect
  kNoResponse,  ///< no process accepts, or the connection was lost
  kTooLate,     ///< the deadline was exceeded
  kUnreadable,  ///< the response could not be parsed
  kTooLong,     ///< the response exceeds the size limit
  kRefused,     ///< any other error
};

/// The versions of the service; the messages of List are compatible. Kubelets before 1.20 have only
/// v1alpha1.
enum class PodResourcesVersion { kV1, kV1alpha1 };

/// The delay after RequestPoll: the kubelet records an allocation after the Allocate call.
inline constexpr std::chrono::seconds kPollSoon{1};

/// Decides when to call List and with which version of the service, and interprets the outcome. One
/// call at a time. If a version is not implemented, the other one is called immediately; the
/// version that responded is used until an error. If the kubelet limits the rate, the pause doubles
/// from two periods up to twelve. Pure; time is an argument.
class PodResourcesPoll {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  /// The first call is due `now`.
  PodResourcesPoll(Duration period, Time now) : period_(period), due_(now) {}

  /// Schedules a call after kPollSoon, unless one is due earlier or the rate is limited.
  void Soon(Time now);
  /// Schedules a call now, or after the pending one, even if the rate is limited.
  void Now(Time now) { (due_ ? due_ : soon_) = now; }
  /// The scheduled call begins.
  void Begin() { due_.reset(); }
  /// The call has ended. Returns false if another version must be called immediately.
  bool End(PollOutcome outcome, Time now);

  /// When the next call is due; nothing while one is pending.
  std::optional<Time> due() const { return due_; }
  /// The version for the next call.
  PodResourcesVersion version() const { return version_; }
  /// Returns whether the API responds; nothing before the first outcome.
  std::optional<bool> up() const { return up_; }
  /// The last outcome; nothing before the first one.
  std::optional<PollOutcome> last() const { return last_; }

 private:
  Duration BackOff() const;

  Duration period_;
  std::optional<Time> due_;
  std::optional<Time> soon_;  ///< requested during a call
  PodResourcesVersion version_ = PodResourcesVersion::kV1;
  bool other_tried_ = false;  ///< one version failed for the current poll
  int limited_ = 0;           ///< consecutive outcomes kRateLimited
  std::optional<bool> up_;
  std::optional<PollOutcome> last_;
};

}  // namespace patchbay
