#include "inventory/hook_runner.h"

#include <poll.h>

#include <algorithm>

#include "base/format.h"

namespace patchbay {

HookRunner::HookRunner(std::string resource, std::shared_ptr<ResourceObserver> observer, Log& log,
                       std::shared_ptr<const Cancellation> cancellation)
    : resource_(std::move(resource)),
      observer_(std::move(observer)),
      log_(log),
      cancellation_(std::move(cancellation)) {}

HookRunner::~HookRunner() {
  std::unique_lock lock(mutex_);
  ending_ = true;
  freed_.notify_all();
  auto threads = std::exchange(threads_, {});
  lock.unlock();
  for (auto& [serial, thread] : threads) thread.join();
}

void HookRunner::Run(HookCall call, Done done) {
  std::unique_lock lock(mutex_);
  JoinEnded();
  if (call.commands.empty() && IsFree(call)) {
    lock.unlock();
    return done({});
  }
  const std::uint64_t serial = next_serial_++;
  threads_.emplace(serial, [this, serial, call = std::move(call), done = std::move(done)] {
    Work(call, done);
    const std::lock_guard ended(mutex_);
    ended_.push_back(serial);
  });
}

void HookRunner::Work(const HookCall& call, const Done& done) {
  const Time deadline = std::chrono::steady_clock::now() + call.timeout;
  if (const Status turn = TakeTurn(call, deadline); !turn) return done(turn);
  HookOutcome outcome = RunAndReport(call, deadline);
  done(outcome.status);
  AwaitEnd(std::move(outcome.left_behind));
  EndTurn(call);
}

bool HookRunner::IsFree(const HookCall& call) const {
  return std::none_of(call.devices.begin(), call.devices.end(),
                      [this](const std::string& device) { return busy_.contains(device); });
}

Status HookRunner::TakeTurn(const HookCall& call, Time deadline) {
  std::unique_lock lock(mutex_);
  const bool free = freed_.wait_until(lock, deadline, [&] { return ending_ || IsFree(call); });
  const bool ends = ending_ || cancellation_->triggered();
  if (free && !ends) {
    busy_.insert(call.devices.begin(), call.devices.end());
    return {};
  }
  const std::string reason =
      ends ? "patchbay ends"
           : format("another hook of {} still works on the device; it was waited for {} ms",
                    resource_, call.timeout.count());
  lock.unlock();
  log_.Warning("hook was not run", {{"resource", resource_},
                                    {"hook", Name(call.hook)},
                                    {"device", *call.devices.begin()},
                                    {"reason", reason}});
  return Fail(ErrorKind::kPrecondition, format("the {} hook was not run for \"{}\": {}",
                                               Name(call.hook), *call.devices.begin(), reason));
}

void HookRunner::EndTurn(const HookCall& call) {
  const std::lock_guard lock(mutex_);
  for (const std::string& device : call.devices) busy_.erase(device);
  freed_.notify_all();
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
