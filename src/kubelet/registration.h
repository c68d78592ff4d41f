#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

namespace patchbay {

/// The registration of one resource with the kubelet, as a pure state machine: an event and the
/// time go in, and actions come out. It follows these rules, which hold for kubelets 1.10 and
/// later:
///
///  - The server is started before Register is called. There is one registration at a time, each
///    with its own server and socket name.
///  - The previous server is stopped completely before the next one starts. A kubelet with an open
///    stream gets time to notice that the stream has ended.
///  - A registration is complete when the kubelet opens a stream. If the kubelet ends the stream,
///    the resource is registered again, because the kubelet does not connect again.
///  - The first failure is retried immediately, repeated failures with a back-off. A new
///    kubelet.sock ends every wait.
///
///     kIdle ──kubelet──▶ kStarting ──▶ kRegistering ──▶ kConfirming ──stream──▶ kRegistered
///       ▲                                   │                │                      │
///       └────── kWaiting ◀── kStopping ◀────┴────────────────┴── failure, restart ──┘
enum class RegistrationPhase {
  kIdle,         ///< no server, no kubelet.sock
  kStarting,     ///< the server is starting and checks its socket
  kRegistering,  ///< Register was called
  kConfirming,   ///< Register was accepted; no stream yet
  kRegistered,   ///< a stream is open, or the kubelet is absent and may still have one
  kStopping,     ///< the server is stopping
  kWaiting,      ///< no server; backing off
  kEnded,        ///< no server; final
};

/// Returns "idle", "starting", …
std::string_view Name(RegistrationPhase phase);

/// kubelet.sock exists. A new `epoch` means a new kubelet process.
struct KubeletSeen {
  std::uint64_t epoch = 0;
};
struct KubeletLost {};
struct ServerStarted {
  bool ok = false;
};
struct ServerStopped {};
/// The Register call has ended, or was not made. `gave_options`: GetDevicePluginOptions was called.
/// Kubelets from 1.25 on call it before they respond, and then open the stream.
struct RegisterDone {
  bool ok = false;
  bool gave_options = false;
};
/// The number of open ListAndWatch streams, and whether the first one has ended. The first stream
/// is the one of the kubelet: no other process knows the name of a new socket. Later streams can
/// have any client.
struct StreamsChanged {
  int open = 0;
  bool first_ended = false;
};
/// The socket file of the server was deleted, so that no client can connect.
struct OwnSocketLost {};
/// The options of the resource have changed since it was registered.
struct OptionsChanged {};
/// Reports whether another process serves the resource too, as in a rolling update. When the
/// process that registered last ends, most kubelets remove the resource, and do not notify the
/// remaining process.
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
  kCancelRegister,  ///< RegisterDone will be ignored
  kStopServer,      ///< completely; then ServerStopped
};

/// Longer than the ten seconds in which the kubelet dials the plugin, so that it does not connect
/// to a server that has been stopped.
inline constexpr std::chrono::seconds kRegisterDeadline{20};
/// The maximum time between a successful Register call and the first stream.
inline constexpr std::chrono::seconds kConfirmDeadline{20};
/// The same after GetDevicePluginOptions was called. A kubelet whose older stream ends at that
/// moment forgets the new plugin without a message, see "zombie" in sim/kubelet/. Doubled with each
/// failure, for nodes that are busy.
inline constexpr std::chrono::seconds kWatchDeadline{2};
/// The minimum time without a server, in which the kubelet notices the end of the stream.
inline constexpr std::chrono::milliseconds kSettle{250};
/// The delay before the second retry; the first one is immediate.
inline constexpr std::chrono::milliseconds kFirstBackOff{100};
inline constexpr std::chrono::seconds kMaxBackOff{30};
/// A stream of at least this duration resets the back-off.
inline constexpr std::chrono::seconds kProvenStream{10};

/// The maximum time another process has no server before it counts as ended.
inline constexpr std::chrono::seconds kOthersReturn{2};

/// Not thread-safe; belongs to the loop thread.
class Registration {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;
  using Actions = std::vector<RegistrationAction>;

  /// Handles an event and returns the actions for it, in order.
  Actions Step(const RegistrationEvent& event, Time now);

  RegistrationPhase phase() const { return phase_; }
  /// When TimerFired is due; nothing if no timer is needed.
  std::optional<Time> timer() const { return timer_; }
  /// The number of consecutive failures.
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
  Duration ConfirmDeadline(bool gave_options) const;
  bool ServerRuns() const;

  RegistrationPhase phase_ = RegistrationPhase::kIdle;
  std::optional<Time> timer_;
  std::optional<std::uint64_t> kubelet_;  ///< the epoch of the current kubelet
  int failures_ = 0;
  int streams_ = 0;
  bool stream_seen_ = false;  ///< on this server
  bool first_ended_ = false;  ///< the first stream of this server has ended
  bool others_ = false;       ///< another process serves the resource too
  bool ending_ = false;
  Time confirmed_at_;
  Duration pause_{};  ///< until the next server starts
};

}  // namespace patchbay
