#include "kubelet/pod_resources.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace patchbay {
namespace {

/// Returns the log message for an outcome, and what to do about it.
std::string_view Advice(PollOutcome outcome) {
  switch (outcome) {
    case PollOutcome::kAnswered: return "device assignments available from the kubelet";
    case PollOutcome::kRateLimited:
      return "the kubelet rate-limits PodResources requests; polling less often; check which other "
             "clients on this node use its PodResources API";
    case PollOutcome::kUnimplemented:
      return "device assignments unavailable: the socket does not serve the PodResources API; set "
             "pod_resources to the kubelet's pod-resources/kubelet.sock";
    case PollOutcome::kNoSocket:
      return "device assignments unavailable: the kubelet's PodResources socket does not exist; "
             "mount its directory, /var/lib/kubelet/pod-resources, set pod_resources to the "
             "socket, and for a kubelet before 1.28 enable its feature gate KubeletPodResources";
    case PollOutcome::kForbidden:
      return "device assignments unavailable: no permission to connect to the kubelet's "
             "PodResources socket; run as root";
    case PollOutcome::kNoResponse:
      return "device assignments unavailable: the kubelet's PodResources socket does not respond; "
             "check that the kubelet is running and that the directory, not just the socket, is "
             "mounted";
    case PollOutcome::kTooLate:
      return "device assignments unavailable: the PodResources request timed out; see its log";
    case PollOutcome::kUnreadable:
      return "device assignments unavailable: the PodResources response is not valid; set "
             "pod_resources to the kubelet's pod-resources/kubelet.sock";
    case PollOutcome::kTooLong:
      return "device assignments unavailable: the PodResources response is larger than 16 MiB; "
             "check which pods of this node use many devices";
    case PollOutcome::kRefused:
      return "device assignments unavailable: the kubelet rejected the PodResources request; check "
             "the kubelet log";
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

void PodResources::PollNow(PendingPoll done) {
  poll_.Now(loop_.Now());
  next_polls_.push_back(std::move(done));
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
  std::move(next_polls_.begin(), next_polls_.end(), std::back_inserter(current_polls_));
  next_polls_.clear();
  auto on_done = lifetime_.Guard([this](const PodResourcesResult& answer) { OnResult(answer); });
  call_ = CallPodResources(
      socket_, version, pace_.deadline, [&loop = loop_, on_done](PodResourcesResult answer) {
        loop.Post([on_done, answer = std::move(answer)]() mutable { on_done(answer); });
      });
}

void PodResources::OnResult(const PodResourcesResult& answer) {
  call_ = PendingCall();
  const auto was_up = poll_.up();
  const auto last = poll_.last();
  const bool settled = poll_.End(answer.outcome, loop_.Now());
  Schedule();
  if (poll_.last() != last) Report(answer);
  if (answer.reported) PublishHolders(*answer.reported);
  if (poll_.up() && poll_.up() != was_up) events_.on_up(*poll_.up());
  if (!settled) return;
  Notify(current_polls_, answer.outcome == PollOutcome::kAnswered);
  if (answer.outcome == PollOutcome::kRateLimited) Notify(next_polls_, false);
}

void PodResources::Notify(std::vector<PendingPoll>& polls, bool answered) {
  for (const PendingPoll& poll : std::exchange(polls, {})) poll(answered);
}

void PodResources::PublishHolders(const ReportedHolders& reported) {
  if (std::exchange(complete_, reported.complete) && !reported.complete) {
    log_.Warning(
        "the PodResources response has more device holders than Patchbay keeps, so the other "
        "devices appear free; check which pods of this node use many",
        {{"socket", socket_}, {"kept", kMaxHoldings}});
  }
  events_.on_holders(reported);
}

void PodResources::Report(const PodResourcesResult& answer) {
  const std::string_view advice = Advice(answer.outcome);
  if (answer.outcome == PollOutcome::kAnswered) {
    log_.Info(advice, {{"socket", socket_}});
  } else {
    log_.Warning(advice, {{"socket", socket_}, {"reason", answer.reason}});
  }
}

}  // namespace patchbay
