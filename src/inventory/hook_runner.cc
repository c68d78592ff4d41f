#include "inventory/hook_runner.h"

#include <poll.h>

#include <algorithm>

#include "base/format.h"

namespace patchbay {
namespace {

/// So many devices are released at once.
constexpr int kMostReleases = 16;

}  // namespace

HookRunner::HookRunner(std::string resource, std::shared_ptr<ResourceObserver> observer, Log& log,
                       std::shared_ptr<const Cancellation> cancellation)
    : resource_(std::move(resource)),
      observer_(std::move(observer)),
      log_(log),
      cancellation_(std::move(cancellation)) {}

HookRunner::~HookRunner() {
  std::unique_lock lock(mutex_);
  ending_ = true;
  changed_.notify_all();
  auto threads = std::exchange(threads_, {});
  lock.unlock();
  for (auto& [serial, thread] : threads) thread.join();
}

void HookRunner::Run(HookCall call, Done done) {
  std::unique_lock lock(mutex_);
  JoinEnded();
  const auto place = queue_.emplace(next_serial_++, Place{call.hook, call.devices}).first;
  if (call.commands.empty() && IsTurnOf(place)) {
    queue_.erase(place);
    lock.unlock();
    return done({});
  }
  threads_.emplace(place->first, [this, place, call = std::move(call), done = std::move(done)] {
    Work(place, call, done);
  });
}

void HookRunner::Work(Queue::iterator place, const HookCall& call, const Done& done) {
  using std::chrono::steady_clock;
  const Time latest = call.patience ? steady_clock::now() + *call.patience : Time::max();
  if (const Status turn = AwaitTurn(place, call, latest); !turn) {
    done(turn);
  } else {
    HookOutcome outcome = RunAndReport(call, std::min(latest, steady_clock::now() + call.timeout));
    done(outcome.status);
    AwaitEnd(std::move(outcome.left_behind));
  }
  const std::lock_guard lock(mutex_);
  ended_.push_back(place->first);
  queue_.erase(place);
  changed_.notify_all();
}

bool HookRunner::IsTurnOf(Queue::const_iterator place) const {
  int releases = 0;
  return std::none_of(queue_.begin(), place, [&](const Queue::value_type& earlier) {
    const auto& [hook, devices] = earlier.second;
    if (hook == Hook::kRelease && place->second.hook == hook && ++releases == kMostReleases) {
      return true;
    }
    return std::any_of(devices.begin(), devices.end(), [&](const std::string& device) {
      return place->second.devices.contains(device);
    });
  });
}

Status HookRunner::AwaitTurn(Queue::const_iterator place, const HookCall& call, Time latest) {
  std::unique_lock lock(mutex_);
  const auto over = [&] { return ending_ || cancellation_->triggered(); };
  const bool in_time = changed_.wait_until(lock, latest, [&] { return over() || IsTurnOf(place); });
  if (in_time && !over()) return {};
  const std::string device = call.devices.empty() ? "" : *call.devices.begin();
  const std::string reason =
      in_time ? "patchbay ends"
              : format("another hook of {} still works on the device; it was waited for {} ms",
                       resource_, call.patience->count());
  lock.unlock();
  log_.Warning(
      "hook was not run",
      {{"resource", resource_}, {"hook", Name(call.hook)}, {"device", device}, {"reason", reason}});
  return Fail(ErrorKind::kPrecondition,
              format("the {} hook was not run for \"{}\": {}", Name(call.hook), device, reason));
}

HookOutcome HookRunner::RunAndReport(const HookCall& call, Time deadline) {
  if (call.commands.empty()) return {};
  const auto start = std::chrono::steady_clock::now();
  HookOutcome outcome = RunHook(call, deadline, *cancellation_);
  const auto took = std::chrono::steady_clock::now() - start;
  observer_->OnHook(call.hook, outcome.status.has_value(), took);
  if (!outcome.status) {
    log_.Warning("hook failed", {{"resource", resource_},
                                 {"hook", Name(call.hook)},
                                 {"reason", outcome.status.error().message}});
  } else {
    log_.Debug("hook ran", {{"resource", resource_}, {"hook", Name(call.hook)}});
  }
  return outcome;
}

/// Of the programs that nothing can kill, or of this process.
void HookRunner::AwaitEnd(std::vector<UniqueFd> left_behind) const {
  while (!cancellation_->triggered()) {
    std::erase_if(left_behind, [](const UniqueFd& program) { return HasEnded(program); });
    if (left_behind.empty()) return;
    std::vector<pollfd> fds = {{cancellation_->fd(), POLLIN, 0}};
    for (const UniqueFd& program : left_behind) fds.push_back({program.get(), POLLIN, 0});
    poll(fds.data(), fds.size(), -1);
  }
}

void HookRunner::JoinEnded() {
  for (const std::uint64_t serial : std::exchange(ended_, {})) {
    threads_.at(serial).join();
    threads_.erase(serial);
  }
}

}  // namespace patchbay
