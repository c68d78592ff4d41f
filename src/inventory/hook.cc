#include "inventory/hook.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/format.h"

namespace patchbay {
namespace {

/// How many commands of one call run at once.
constexpr std::size_t kMostAtOnce = 16;
constexpr std::size_t kMostOutput = 4096;

/// The commands of a call, shared by the threads that run them.
class Batch {
 public:
  Batch(const HookCall& call, std::chrono::steady_clock::time_point deadline,
        const Cancellation& cancellation)
      : call_(call),
        deadline_(deadline),
        cancellation_(cancellation),
        results_(call.commands.size()) {}

  HookOutcome Run() {
    std::vector<std::thread> others(std::min(call_.commands.size(), kMostAtOnce) - 1);
    for (std::thread& other : others) other = std::thread([this] { Work(); });
    Work();
    for (std::thread& other : others) other.join();

    HookOutcome outcome;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (!results_[i]) continue;
      if (outcome.status) outcome.status = StatusOf(call_.commands[i], *results_[i]);
      UniqueFd& left_behind = results_[i]->left_behind;
      if (left_behind) outcome.left_behind.push_back(std::move(left_behind));
    }
    return outcome;
  }

 private:
  void Work() {
    for (std::size_t i = next_++; i < results_.size() && !failed_; i = next_++) {
      results_[i] = RunChild(Child(call_.commands[i]), cancellation_);
      if (!Succeeded(*results_[i])) failed_ = true;
    }
  }

  ChildSpec Child(const HookCommand& command) const {
    const auto left = deadline_ - std::chrono::steady_clock::now();
    ChildSpec child;
    child.argv = command.argv;
    child.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::max(left, std::chrono::steady_clock::duration::zero()));
    child.most_output = kMostOutput;
    child.excess = ChildSpec::Excess::kDiscard;
    return child;
  }

  static bool Succeeded(const ChildResult& result) {
    return result.end == ChildEnd::kExited && result.code == 0;
  }

  Status StatusOf(const HookCommand& command, const ChildResult& result) const {
    if (Succeeded(result)) return {};
    ChildSpec child;
    child.argv = command.argv;
    child.timeout = call_.timeout;
    return Fail(ErrorKind::kPrecondition,
                format("the {} hook failed for \"{}\": {}", Name(call_.hook), command.id,
                       DescribeWithOutput(child, result)));
  }

  const HookCall& call_;
  const std::chrono::steady_clock::time_point deadline_;
  const Cancellation& cancellation_;
  std::vector<std::optional<ChildResult>> results_;  ///< nothing for what was not begun
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
};

}  // namespace

std::string_view Name(Hook hook) {
  switch (hook) {
    case Hook::kPreStart: return "pre_start";
    case Hook::kAllocate: return "allocate";
    case Hook::kRelease: return "release";
  }
  return "";
}

const std::optional<HookSpec>& HookOf(const ResourceSpec& spec, Hook hook) {
  switch (hook) {
    case Hook::kPreStart: return spec.pre_start;
    case Hook::kAllocate: return spec.allocate;
    case Hook::kRelease: break;
  }
  return spec.release;
}

bool HoldsUpStart(const ResourceSpec& spec) { return spec.pre_start || spec.release; }

Result<HookCall> PlanHook(Hook hook, const ResourceSpec& spec, std::span<const Variables> units) {
  HookCall call;
  call.hook = hook;
  if (hook == Hook::kPreStart) call.patience = kLongestPreStart;
  for (const Variables& unit : units) call.devices.insert(unit.device->id);
  const std::optional<HookSpec>& wanted = HookOf(spec, hook);
  if (!wanted) return call;
  call.timeout = wanted->timeout;
  if (hook == Hook::kAllocate) call.patience = wanted->timeout;
  for (const Variables& unit : units) {
    HookCommand command{std::string(unit.id), {}};
    for (const Template& argument : wanted->argv) {
      command.argv.push_back(TRY(argument.Render(unit)));
    }
    const bool known = std::any_of(call.commands.begin(), call.commands.end(),
                                   [&](const auto& other) { return other.argv == command.argv; });
    if (!known) call.commands.push_back(std::move(command));
  }
  return call;
}

HookOutcome RunHook(const HookCall& call, std::chrono::steady_clock::time_point deadline,
                    const Cancellation& cancellation) {
  if (call.commands.empty()) return {};
  return Batch(call, deadline, cancellation).Run();
}

}  // namespace patchbay
