// A pure state machine: an event and the time in, actions out. The kubelet does not report whether
// it still has a registration, so a resource is registered only after the kubelet has opened a
// stream, and anything that shows otherwise, such as a new kubelet or a lost socket, starts again.

#include "kubelet/registration.h"

#include <algorithm>

namespace patchbay {

using Phase = RegistrationPhase;
using Action = RegistrationAction;

std::string_view Name(RegistrationPhase phase) {
  switch (phase) {
    case Phase::kIdle: return "idle";
    case Phase::kStarting: return "starting";
    case Phase::kRegistering: return "registering";
    case Phase::kConfirming: return "confirming";
    case Phase::kRegistered: return "registered";
    case Phase::kStopping: return "stopping";
    case Phase::kWaiting: return "waiting";
    case Phase::kEnded: return "ended";
  }
  return "";
}

Registration::Actions Registration::Step(const RegistrationEvent& event, Time now) {
  return std::visit([&](const auto& e) { return On(e, now); }, event);
}

Registration::Actions Registration::On(const KubeletSeen& event, Time) {
  if (kubelet_ == event.epoch) return {};
  kubelet_ = event.epoch;
  failures_ = 0;
  if (ending_) return {};
  switch (phase_) {
    case Phase::kIdle:
    case Phase::kWaiting: return Start();
    // The server that is starting can be registered with the new kubelet.
    case Phase::kStarting: return {};
    case Phase::kStopping: pause_ = std::min<Duration>(pause_, kSettle); return {};
    case Phase::kRegistering:
    case Phase::kConfirming:
    case Phase::kRegistered: return Stop(streams_ > 0 ? kSettle : Duration::zero());
    case Phase::kEnded: return {};
  }
  return {};
}

Registration::Actions Registration::On(const KubeletLost&, Time) {
  kubelet_.reset();
  if (phase_ == Phase::kWaiting) {
    phase_ = Phase::kIdle;
    timer_.reset();
  }
  // All other operations end by themselves. If only the socket file was deleted, the streams of the
  // kubelet remain usable.
  return {};
}

Registration::Actions Registration::On(const ServerStarted& event, Time now) {
  if (phase_ != Phase::kStarting) return {};
  if (!event.ok) {
    ++failures_;
    pause_ = BackOff();
    return Resume(now);
  }
  if (ending_) return Stop(Duration::zero());
  phase_ = Phase::kRegistering;
  return {Action::kRegister};
}

Registration::Actions Registration::On(const ServerStopped&, Time now) {
  if (phase_ != Phase::kStopping) return {};
  return Resume(now);
}

Registration::Actions Registration::On(const RegisterDone& event, Time now) {
  if (phase_ != Phase::kRegistering) return {};
  phase_ = Phase::kConfirming;
  if (!event.ok) return FailAndStop();
  if (streams_ > 0 && !first_ended_) {
    phase_ = Phase::kRegistered;
    confirmed_at_ = now;
    return {};
  }
  // The stream can open and end before the response to Register arrives.
  if (stream_seen_) return FailAndStop();
  timer_ = now + ConfirmDeadline(event.gave_options);
  return {};
}

Registration::Actions Registration::On(const StreamsChanged& event, Time now) {
  if (!ServerRuns()) return {};
  streams_ = event.open;
  stream_seen_ = stream_seen_ || streams_ > 0;
  first_ended_ = first_ended_ || event.first_ended;
  if (phase_ == Phase::kConfirming && streams_ > 0 && !first_ended_) {
    phase_ = Phase::kRegistered;
    confirmed_at_ = now;
    timer_.reset();
  } else if (phase_ == Phase::kRegistered && (streams_ == 0 || event.first_ended)) {
    if (now - confirmed_at_ >= kProvenStream) failures_ = 0;
    return FailAndStop();
  }
  return {};
}

Registration::Actions Registration::On(const OwnSocketLost&, Time now) {
  switch (phase_) {
    case Phase::kRegistering:
    case Phase::kConfirming:
    case Phase::kRegistered:
      // Without kubelet.sock, the open streams are kept: they do not need the file.
      if (!kubelet_) return {};
      // A repeated deletion counts as a failure, so that it causes a back-off.
      if (phase_ == Phase::kRegistered && now - confirmed_at_ >= kProvenStream) failures_ = 0;
      ++failures_;
      return Stop(std::max<Duration>(BackOff(), streams_ > 0 ? kSettle : Duration::zero()));
    default: return {};
  }
}

Registration::Actions Registration::On(const OptionsChanged&, Time) {
  // A later registration has the new options.
  const bool is_told =
      phase_ == Phase::kRegistering || phase_ == Phase::kConfirming || phase_ == Phase::kRegistered;
  if (!is_told || !kubelet_) return {};
  return Stop(streams_ > 0 ? kSettle : Duration::zero());
}

Registration::Actions Registration::On(const OthersServe& event, Time now) {
  const bool gone = others_ && !event.any;
  others_ = event.any;
  if (phase_ != Phase::kRegistered) return {};
  if (others_) timer_.reset();
  if (gone) timer_ = now + kOthersReturn;
  return {};
}

Registration::Actions Registration::On(const TimerFired&, Time now) {
  if (!timer_ || now < *timer_) return {};
  timer_.reset();
  if (phase_ == Phase::kConfirming) return FailAndStop();
  if (phase_ == Phase::kRegistered && kubelet_) {
    if (now - confirmed_at_ >= kProvenStream) failures_ = 0;
    return FailAndStop();
  }
  if (phase_ == Phase::kWaiting) return Start();
  return {};
}

Registration::Actions Registration::On(const EndRequested&, Time now) {
  ending_ = true;
  switch (phase_) {
    case Phase::kIdle:
    case Phase::kWaiting: return Resume(now);
    case Phase::kRegistering:
    case Phase::kConfirming:
    case Phase::kRegistered: return Stop(Duration::zero());
    case Phase::kStarting:
    case Phase::kStopping:
    case Phase::kEnded: return {};
  }
  return {};
}

Registration::Actions Registration::Start() {
  phase_ = Phase::kStarting;
  timer_.reset();
  streams_ = 0;
  stream_seen_ = false;
  first_ended_ = false;
  return {Action::kStartServer};
}

/// Stops the server. The next one starts after `pause`.
Registration::Actions Registration::Stop(Duration pause) {
  Actions actions;
  if (phase_ == Phase::kRegistering) actions.push_back(Action::kCancelRegister);
  actions.push_back(Action::kStopServer);
  phase_ = Phase::kStopping;
  timer_.reset();
  pause_ = pause;
  return actions;
}

Registration::Actions Registration::FailAndStop() {
  ++failures_;
  // If the kubelet ended the stream, it needs no time to notice that.
  const bool ends_stream = streams_ > 0 && !first_ended_;
  return Stop(std::max<Duration>(BackOff(), ends_stream ? kSettle : Duration::zero()));
}

/// Selects what follows a stopped server: the end, the wait for a kubelet, or a pause.
Registration::Actions Registration::Resume(Time now) {
  timer_.reset();
  streams_ = 0;
  if (ending_) {
    phase_ = Phase::kEnded;
    return {};
  }
  if (!kubelet_) {
    phase_ = Phase::kIdle;
    return {};
  }
  if (pause_ == Duration::zero()) return Start();
  phase_ = Phase::kWaiting;
  timer_ = now + pause_;
  return {};
}

/// The first retry is immediate, because no device can be allocated until it succeeds.
Registration::Duration Registration::BackOff() const {
  if (failures_ <= 1) return Duration::zero();
  const int doublings = std::min(failures_ - 2, 20);
  return std::min<Duration>(kFirstBackOff * (1 << doublings), kMaxBackOff);
}

Registration::Duration Registration::ConfirmDeadline(bool gave_options) const {
  if (!gave_options) return kConfirmDeadline;
  return std::min<Duration>(kWatchDeadline * (1 << std::min(failures_, 20)), kConfirmDeadline);
}

bool Registration::ServerRuns() const {
  return phase_ == Phase::kStarting || phase_ == Phase::kRegistering ||
         phase_ == Phase::kConfirming || phase_ == Phase::kRegistered;
}

}  // namespace patchbay
