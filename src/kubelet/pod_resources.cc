#include "kubelet/pod_resources.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace patchbay {
namespace {

/// What an administrator is told of an outcome, and to do about it.
std::string_view Advice(PollOutcome outcome) {
  switch (outcome) {
    case PollOutcome::kAnswered: return "the kubelet says who holds which device";
    case PollOutcome::kRateLimited:
      return "the kubelet is asked too often who holds which device and will be asked less; see "
             "who else on this node uses its PodResources API";
    case PollOutcome::kUnimplemented:
      return "who holds which device is not known: the socket has no PodResources API; let "
             "pod_resources name the kubelet's pod-resources/kubelet.sock";
    case PollOutcome::kNoSocket:
      return "who holds which device is not known: the kubelet's socket is not there; mount its "
             "directory, /var/lib/kubelet/pod-resources, let pod_resources name the socket, and "
             "with a kubelet before 1.28 see that its feature KubeletPodResources is on";
    case PollOutcome::kForbidden:
      return "who holds which device is not known: this user may not connect to the kubelet's "
             "socket; run as root";
    case PollOutcome::kNoAnswer:
      return "who holds which device is not known: nobody answers on the kubelet's socket; see "
             "that the kubelet runs, and that not the socket alone is mounted but its directory";
    case PollOutcome::kTooLate:
      return "who holds which device is not known: the kubelet did not answer in time; see its "
             "log";
    case PollOutcome::kUnreadable:
      return "who holds which device is not known: the answer is not that of a kubelet; let "
             "pod_resources name the kubelet's pod-resources/kubelet.sock";
    case PollOutcome::kTooLong:
      return "who holds which device is not known: the kubelet's answer is longer than 16 MiB; "
             "see which pods of this node hold so many devices";
    case PollOutcome::kRefused:
      return "who holds which device is not known: the kubelet refused to say; its log may say why";
  }
  return "";
}

}  // namespace

PodResources::PodResources(Loop& loop, Log& log, std::string socket, Events events,
                           PodResourcesPace pace)
    : loop_(loop),
      log_(log),
      socket_(std::move(socket)),
      events_(std::move(events)),
      pace_(pace),
      poll_(pace.period, loop.Now()) {
  Schedule();
}

std::function<void()> PodResources::RequestPoll() {
  const auto soon = lifetime_.Guard([this] {
    poll_.Soon(loop_.Now());
    Schedule();
  });
  return [&loop = loop_, requested = requested_, soon] {
    if (!requested->exchange(true)) loop.Post(soon);
  };
}

void PodResources::PollNow(Asked done) {
  poll_.Now(loop_.Now());
  to_ask_.push_back(std::move(done));
  Schedule();
}

PendingCall PodResources::TakeCall() {
  timer_ = Subscription();
  return std::move(call_);
}

void PodResources::Schedule() {
  timer_ = Subscription();
  if (const auto due = poll_.due()) {
    timer_ = loop_.After(std::max(*due - loop_.Now(), Loop::Duration::zero()), [this] { Ask(); });
  }
}

void PodResources::Ask() {
  *requested_ = false;  // first: a request made meanwhile is for the next poll
  const PodResourcesVersion version = poll_.version();
  poll_.Begin();
  std::move(to_ask_.begin(), to_ask_.end(), std::back_inserter(asking_));
  to_ask_.clear();
  auto on_done = lifetime_.Guard([this](const PodResourcesAnswer& answer) { OnAnswer(answer); });
  call_ = CallPodResources(
      socket_, version, pace_.deadline, [&loop = loop_, on_done](PodResourcesAnswer answer) {
        loop.Post([on_done, answer = std::move(answer)]() mutable { on_done(answer); });
      });
}

void PodResources::OnAnswer(const PodResourcesAnswer& answer) {
  call_ = PendingCall();
  const auto was_up = poll_.up();
  const auto last = poll_.last();
  const bool settled = poll_.End(answer.outcome, loop_.Now());
  Schedule();
  if (poll_.last() != last) Report(answer);
  if (answer.reported) TakeIn(*answer.reported);
  if (poll_.up() && poll_.up() != was_up) events_.on_up(*poll_.up());
  if (!settled) return;
  Tell(asking_, answer.outcome == PollOutcome::kAnswered);
  if (answer.outcome == PollOutcome::kRateLimited) Tell(to_ask_, false);
}

void PodResources::Tell(std::vector<Asked>& askers, bool answered) {
  for (const Asked& asked : std::exchange(askers, {})) asked(answered);
}

void PodResources::TakeIn(const ReportedHolders& reported) {
  if (std::exchange(complete_, reported.complete) && !reported.complete) {
    log_.Warning(
        "the kubelet names more holders of devices than are kept, and the devices of the rest look "
        "free; see which pods of this node hold so many",
        {{"socket", socket_}, {"kept", kMaxHoldings}});
  }
  events_.on_holders(reported);
}

void PodResources::Report(const PodResourcesAnswer& answer) {
  const std::string_view advice = Advice(answer.outcome);
  if (answer.outcome == PollOutcome::kAnswered) {
    log_.Info(advice, {{"socket", socket_}});
  } else {
    log_.Warning(advice, {{"socket", socket_}, {"reason", answer.reason}});
  }
}

}  // namespace patchbay
