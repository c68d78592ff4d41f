#pragma once

#include <chrono>
#include <optional>

namespace patchbay {

/// How asking the kubelet who holds which device ended.
enum class PollOutcome {
  kAnswered,
  kRateLimited,    ///< all who ask are too many; no outage, what was said last stays in force
  kUnimplemented,  ///< this version of the service is not on the socket
  kNoSocket,
  kForbidden,   ///< this user may not connect
  kNoAnswer,    ///< nobody accepts, or the connection broke
  kTooLate,     ///< nothing before the deadline
  kUnreadable,  ///< not the message it should be
  kTooLong,     ///< more bytes than are taken
  kRefused,     ///< any other error
};

/// Both have a List of the same layout. Kubelets before 1.20 have only the older one.
enum class PodResourcesVersion { kV1, kV1alpha1 };

/// How long after RequestPoll the question comes: the kubelet must note first what it gave.
inline constexpr std::chrono::seconds kPollSoon{1};

/// When the kubelet is asked who holds which device, by which version of the service, and what its
/// answers mean. One call at a time. A version that is not there has the other one asked at once;
/// the one that answered is asked until an error. When the kubelet finds that it is asked too
/// often, the pause doubles from twice the period up to twelve periods. Pure; time is an argument.
class PodResourcesPoll {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  /// The first call is due `now`.
  PodResourcesPoll(Duration period, Time now) : period_(period), due_(now) {}

  /// Has a call begin kPollSoon from now, unless one is due before or the kubelet asked for peace.
  void Soon(Time now);
  /// Has a call begin now, even where the kubelet asked for peace, or as soon as the one under way
  /// is over.
  void Now(Time now) { (due_ ? due_ : soon_) = now; }
  /// The call that is due begins.
  void Begin() { due_.reset(); }
  /// The call ended. Returns whether that is the answer, and not a reason to ask otherwise at once.
  bool End(PollOutcome outcome, Time now);

  /// When the next call is to begin; nothing while one is under way.
  std::optional<Time> due() const { return due_; }
  /// Which version it is to ask.
  PodResourcesVersion version() const { return version_; }
  /// Whether the kubelet says who holds what; nothing before that is known.
  std::optional<bool> up() const { return up_; }
  /// How the last question ended; nothing before the first did.
  std::optional<PollOutcome> last() const { return last_; }

 private:
  Duration BackOff() const;

  Duration period_;
  std::optional<Time> due_;
  std::optional<Time> soon_;  ///< requested during a call
  PodResourcesVersion version_ = PodResourcesVersion::kV1;
  bool other_tried_ = false;  ///< this question was put to one version in vain
  int limited_ = 0;           ///< in a row
  std::optional<bool> up_;
  std::optional<PollOutcome> last_;
};

}  // namespace patchbay
