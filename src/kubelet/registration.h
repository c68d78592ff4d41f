#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

namespace patchbay {

/// The life of one resource at the kubelet, as a pure state machine: what happened and what time it
/// is go in, what to do comes out. It keeps the rules R1–R8 for every era of the kubelet:
///
///  - serve first, then register; one registration at a time, each with a server (and a socket
///    name) of its own;
///  - stop the old server completely before starting the next, and let a kubelet that still had
///    its stream notice that it ended;
///  - an accepted registration counts only once the kubelet opens a stream; a stream that ends
///    without our doing is a reason to register again, since the kubelet never comes back itself;
///  - the first failure is retried at once, repeated failure backs off, and a new kubelet.sock ends
///    every wait.
///
///     kIdle ──kubelet──▶ kStarting ──▶ kRegistering ──▶ kConfirming ──stream──▶ kRegistered
///       ▲                                   │                │                      │
///       └────── kWaiting ◀── kStopping ◀────┴────────────────┴── failure, restart ──┘
enum class RegistrationPhase {
  kIdle,         ///< no server, no kubelet.sock
  kStarting,     ///< the server is being started and self-checked
  kRegistering,  ///< Register is under way
  kConfirming,   ///< Register was accepted; no stream yet
  kRegistered,   ///< a stream is open, or the kubelet is gone and may still hold one
  kStopping,     ///< the server is being stopped
  kWaiting,      ///< no server; backing off
  kEnded,        ///< no server, for good
};

/// "idle", "starting", …
std::string_view Name(RegistrationPhase phase);

/// The kubelet's socket is there; another `epoch` is another kubelet.
struct KubeletSeen {
  std::uint64_t epoch = 0;
};
struct KubeletLost {};
struct ServerStarted {
  bool ok = false;
};
struct ServerStopped {};
/// The Register call ended, or was not made.
struct RegisterDone {
  bool ok = false;
};
/// How many ListAndWatch streams the server has now, and whether the first it had is over. That one
/// is the kubelet's, who alone knows the socket when it is new; others may be anybody's.
struct StreamsChanged {
  int open = 0;
  bool first_ended = false;
};
/// The server's socket file was deleted, so that nobody can connect any more.
struct OwnSocketLost {};
/// A kubelet that registered the resource before now has other options than the resource.
struct OptionsChanged {};
/// Whether other processes serve the resource as well, as in a rolling update. When the newest of
/// them ends, most kubelets take the resource for gone, and tell none that is still there.
struct OthersServe {
  bool any = false;
};
struct TimerFired {};
struct EndRequested {};

using RegistrationEvent = std::variant<KubeletSeen, KubeletLost, ServerStarted, ServerStopped,
                                       RegisterDone, StreamsChanged, OwnSocketLost, OthersServe,
                                       OptionsChanged, TimerFired, EndRequested>;

enum class RegistrationAction {
  kStartServer,  ///< with a new socket name, and check that the socket exists; then ServerStarted
  kRegister,     ///< with a deadline of kRegisterDeadline; then RegisterDone
  kCancelRegister,  ///< no RegisterDone is wanted any more
  kStopServer,      ///< completely; then ServerStopped
};

/// Longer than the kubelet's own ten seconds for dialling back, so that it never finishes
/// connecting to a client that gave up.
inline constexpr std::chrono::seconds kRegisterDeadline{20};
/// How long after an accepted registration the kubelet may take to open a stream.
inline constexpr std::chrono::seconds kConfirmDeadline{20};
/// What a kubelet gets to notice that our stream ended before we come back.
inline constexpr std::chrono::milliseconds kSettle{250};
/// Before the second retry in a row; the first is at once.
inline constexpr std::chrono::milliseconds kFirstBackOff{100};
inline constexpr std::chrono::seconds kMaxBackOff{30};
/// A stream that lived this long was a success; what ended it starts the back-off anew.
inline constexpr std::chrono::seconds kProvenStream{10};

/// How long another process may be between two servers before it counts as gone.
inline constexpr std::chrono::seconds kOthersReturn{2};

class Registration {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;
  using Actions = std::vector<RegistrationAction>;

  /// Takes in an event and says what to do about it, in order.
  Actions Step(const RegistrationEvent& event, Time now);

  RegistrationPhase phase() const { return phase_; }
  /// When TimerFired is due; nothing while there is nothing to wait for.
  std::optional<Time> timer() const { return timer_; }
  /// Failures in a row.
  int failures() const { return failures_; }

 private:
  Actions On(const KubeletSeen& event, Time now);
  Actions On(const KubeletLost& event, Time now);
  Actions On(const ServerStarted& event, Time now);
  Actions On(const ServerStopped& event, Time now);
  Actions On(const RegisterDone& event, Time now);
  Actions On(const StreamsChanged& event, Time now);
  Actions On(const OwnSocketLost& event, Time now);
  Actions On(const OptionsChanged& event, Time now);
  Actions On(const OthersServe& event, Time now);
  Actions On(const TimerFired& event, Time now);
  Actions On(const EndRequested& event, Time now);

  Actions Start();
  Actions Stop(Duration pause);
  Actions FailAndStop();
  Actions Resume(Time now);
  Duration BackOff() const;
  bool ServerRuns() const;

  RegistrationPhase phase_ = RegistrationPhase::kIdle;
  std::optional<Time> timer_;
  std::optional<std::uint64_t> kubelet_;  ///< the epoch of the kubelet that is there
  int failures_ = 0;
  int streams_ = 0;
  bool stream_seen_ = false;  ///< by this server
  bool first_ended_ = false;  ///< of this server's streams
  bool others_ = false;       ///< serve the resource as well
  bool ending_ = false;
  Time confirmed_at_;
  Duration pause_{};  ///< between the end of this server and the next
};

}  // namespace patchbay
