// Calls wait in a queue in the order in which they came. One thread starts a thread for each call
// whose devices no earlier call in the queue has, and removes the calls whose time is over. A
// device stays blocked while a program of an earlier call may still use it, even if that call has
// returned.

#include "hooks/hook_runner.h"

#include <poll.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/format.h"
#include "hooks/disk_check.h"
#include "os/threads.h"

namespace patchbay {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

/// The maximum number of devices released at once.
constexpr int kMaxReleases = 16;
/// The minimum time that must be left to start a program: a program that is killed halfway, such as
/// one that formats a disk, does more damage than one that never started.
constexpr std::chrono::milliseconds kWorthBeginning{500};
/// The time that the destructor waits. A cancelled program is killed within two seconds.
constexpr seconds kPatienceAtDestruction{3};
/// The pause after which a thread is requested again.
constexpr seconds kThreadPause{1};

constexpr const char* kShutdownReason = "patchbay is shutting down, or the resource was removed";

bool Touches(const HookCall& call, const std::set<std::string>& devices) {
  return std::any_of(call.devices.begin(), call.devices.end(),
                     [&](const std::string& device) { return devices.contains(device); });
}

/// Waits until programs that nothing can kill have ended, and a disk has opened, or this process
/// ends.
void AwaitLeftBehind(HookOutcome& outcome, const Cancellation& cancellation) {
  std::vector<UniqueFd>& programs = outcome.left_behind;
  while (!cancellation.triggered()) {
    std::erase_if(programs, [](const UniqueFd& fd) { return HasEnded(fd); });
    if (programs.empty() && !outcome.opening) return;
    std::vector<pollfd> fds = {{cancellation.fd(), POLLIN, 0}};
    for (const UniqueFd& fd : programs) fds.push_back({fd.get(), POLLIN, 0});
    if (outcome.opening) fds.push_back({outcome.opening->get(), POLLIN, 0});
    poll(fds.data(), fds.size(), -1);
    if (outcome.opening && fds.back().revents != 0) outcome.opening.reset();
  }
}

}  // namespace

HookRunner::HookRunner(OnResult on_result, Log& log,
                       std::shared_ptr<const Cancellation> cancellation, HostRoot host)
    : on_result_(std::move(on_result)),
      log_(log),
      cancellation_(std::move(cancellation)),
      host_(std::move(host)) {}

struct HookRunner::Execution {
  HookCall call;
  Time begin_by;
  Time end_by;
  std::chrono::nanoseconds took{};
  HookOutcome outcome = {};

  void Run(const HostRoot& host, const std::shared_ptr<const Cancellation>& cancellation) {
    const auto start = steady_clock::now();
    outcome = CheckDisks(call, host, std::min(end_by, start + call.timeout), cancellation);
    const auto checked = steady_clock::now();
    if (outcome.status && begin_by < checked) {
      outcome.status = Fail(ErrorKind::kPrecondition, "too little time is left to run it");
    }
    if (outcome.status) {
      outcome = RunHook(call, std::min(end_by, checked + call.timeout), *cancellation);
    }
    took = steady_clock::now() - start;
  }
};

HookRunner::~HookRunner() {
  {
    std::unique_lock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, kPatienceAtDestruction, [this] { return queue_.empty(); });
    abandoned_ = true;
  }
  changed_.notify_all();
  if (keeper_.joinable()) keeper_.join();
}

void HookRunner::End() {
  std::unique_lock lock(mutex_);
  ending_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return queue_.empty(); });
}

HookRunner::QueueSlot HookRunner::PlaceFor(HookCall call, Done done) {
  QueueSlot place{std::move(call), std::move(done), steady_clock::now(), Time::max(), Time::max()};
  if (place.call.patience) {
    place.end_by = place.since + *place.call.patience;
    place.begin_by = place.end_by - std::min(kWorthBeginning, place.call.timeout / 2);
  }
  return place;
}

void HookRunner::Run(HookCall call, Done done) {
  std::unique_lock lock(mutex_);
  const auto calls = static_cast<std::size_t>(std::ranges::count_if(
      queue_, [](const auto& entry) { return entry.second.call.hook != Hook::kRelease; }));
  const auto at = queue_.emplace(next_serial_++, PlaceFor(std::move(call), std::move(done))).first;
  Completions completions;
  if (at->second.call.commands.empty() && std::ranges::count(Due(), at) > 0) {
    completions.emplace_back(std::move(at->second), Status());
    queue_.erase(at);
  } else if (ending_) {
    completions.emplace_back(std::move(at->second),
                             Fail(ErrorKind::kPrecondition, kShutdownReason));
    queue_.erase(at);
  } else if (at->second.call.hook != Hook::kRelease && calls >= kMaxCalls) {
    completions.emplace_back(std::move(at->second),
                             Fail(ErrorKind::kPrecondition,
                                  Format("{} calls already wait for hooks of this resource; see "
                                         "what its hooks wait for",
                                         calls)));
    queue_.erase(at);
  } else if (!keeper_.joinable()) {
    if (auto keeper = StartThread([this] { Keep(); })) {
      keeper_ = *std::move(keeper);
    } else {
      completions.emplace_back(std::move(at->second),
                               Fail(ErrorKind::kPrecondition, keeper.error().message));
      queue_.erase(at);
    }
  }
  lock.unlock();
  changed_.notify_all();
  Complete(completions);
}

void HookRunner::Keep() {
  std::unique_lock lock(mutex_);
  while (!abandoned_ && (!ending_ || !queue_.empty())) {
    const Completions completions = Advance();
    if (completions.empty()) {
      changed_.wait_until(lock, NextWakeup());
    } else {
      lock.unlock();
      Complete(completions);
      lock.lock();
    }
  }
}

/// Starts the calls that are due, and removes calls from the queue that have nothing to run or
/// whose waiting time is over.
HookRunner::Completions HookRunner::Advance() {
  Completions completions;
  const auto answer = [&](Queue::iterator at, Status status) {
    completions.emplace_back(std::move(at->second), std::move(status));
    queue_.erase(at);
  };
  const auto due = IsOver() ? std::vector<Queue::iterator>() : Due();
  for (const Queue::iterator at : due) {
    if (at->second.call.commands.empty()) {
      answer(at, {});
    } else if (steady_clock::now() <= at->second.begin_by && !Start(at)) {
      break;
    }
  }
  for (auto at = queue_.begin(); at != queue_.end();) {
    const auto next = std::next(at);
    if (at->second.state == State::kWaiting) {
      if (IsOver()) {
        answer(at, Fail(ErrorKind::kPrecondition, kShutdownReason));
      } else if (at->second.begin_by < steady_clock::now()) {
        answer(at, Fail(ErrorKind::kPrecondition,
                        "timed out waiting in the hook queue; another hook still runs for the "
                        "device, or the kubelet was slow to report device usage"));
      }
    }
    at = next;
  }
  return completions;
}

/// Returns the waiting calls whose devices are free.
std::vector<HookRunner::Queue::iterator> HookRunner::Due() {
  std::vector<Queue::iterator> due;
  auto releases = std::ranges::count_if(queue_, [](const Queue::value_type& entry) {
    return entry.second.call.hook == Hook::kRelease && entry.second.state == State::kRunning;
  });
  std::set<std::string> busy;
  for (auto at = queue_.begin(); at != queue_.end(); ++at) {
    const QueueSlot& place = at->second;
    const bool is_free = place.state == State::kWaiting && !Touches(place.call, busy);
    busy.insert(place.call.devices.begin(), place.call.devices.end());
    if (!is_free || (place.call.hook == Hook::kRelease && ++releases > kMaxReleases)) continue;
    due.push_back(at);
  }
  return due;
}

/// Returns false if no thread is available.
bool HookRunner::Start(Queue::iterator at) {
  const auto execution = std::make_shared<Execution>(
      Execution{at->second.call, at->second.begin_by, at->second.end_by});
  const Status begun = threads_.Run([this, serial = at->first, execution, host = host_,
                                     cancellation = cancellation_](const JobThreads::Owner& owner) {
    execution->Run(host, cancellation);
    owner.Call([&] { OnExecuted(serial, *execution); });
    AwaitLeftBehind(execution->outcome, *cancellation);
    owner.Call([&] { OnOver(serial); });
  });
  if (begun) at->second.state = State::kRunning;
  return begun.has_value();
}

/// The devices stay busy until OnOver.
void HookRunner::OnExecuted(std::uint64_t serial, Execution& execution) {
  Report(execution);
  std::unique_lock lock(mutex_);
  const Done done = std::exchange(queue_.at(serial).done, nullptr);
  const HookOutcome& outcome = execution.outcome;
  if (!outcome.left_behind.empty() || outcome.opening) queue_.at(serial).state = State::kHanging;
  lock.unlock();
  changed_.notify_all();
  done(outcome.status);
}

void HookRunner::OnOver(std::uint64_t serial) {
  const std::lock_guard lock(mutex_);
  queue_.erase(serial);
  changed_.notify_all();
}

void HookRunner::Report(Execution& execution) {
  const HookCall& call = execution.call;
  HookOutcome& outcome = execution.outcome;
  on_result_(call.hook, outcome.status.has_value(), execution.took);
  if (!outcome.status) {
    std::string& reason = outcome.status.error().message;
    log_.Warning("hook failed", {{"resource", call.resource},
                                 {"hook", Name(call.hook)},
                                 {"device", outcome.id},
                                 {"reason", reason}});
    reason = Format("the {} hook of {} failed for \"{}\": {}", Name(call.hook), call.resource,
                    outcome.id, reason);
  } else {
    log_.Debug("hook completed", {{"resource", call.resource}, {"hook", Name(call.hook)}});
  }
}

/// Completes calls that were not run.
void HookRunner::Complete(const Completions& completions) {
  for (const auto& [place, status] : completions) {
    if (status) {
      place.done(status);
      continue;
    }
    const HookCall& call = place.call;
    const std::string& reason = status.error().message;
    const std::string& device = *call.devices.begin();
    on_result_(call.hook, false, steady_clock::now() - place.since);
    log_.Warning("hook was not run", {{"resource", call.resource},
                                      {"hook", Name(call.hook)},
                                      {"device", device},
                                      {"reason", reason}});
    place.done(
        Fail(ErrorKind::kPrecondition, Format("the {} hook of {} was not run for \"{}\": {}",
                                              Name(call.hook), call.resource, device, reason)));
  }
}

HookRunner::Time HookRunner::NextWakeup() const {
  Time next = steady_clock::now() + std::chrono::hours(1);
  for (const auto& [serial, place] : queue_) {
    if (place.state == State::kWaiting) next = std::min(next, place.begin_by);
  }
  const bool lacks_threads =
      !queue_.empty() && std::ranges::none_of(queue_, [](const Queue::value_type& entry) {
        return entry.second.state != State::kWaiting;
      });
  return lacks_threads ? std::min(next, steady_clock::now() + kThreadPause) : next;
}

}  // namespace patchbay
