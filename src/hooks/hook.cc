#include "hooks/hook.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/format.h"
#include "os/threads.h"

namespace patchbay {
namespace {

/// The maximum number of commands of one call that run at once.
constexpr std::size_t kMaxAtOnce = 16;
constexpr std::size_t kMaxOutput = 4096;

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
    std::vector<std::thread> others;
    while (others.size() + 1 < std::min(call_.commands.size(), kMaxAtOnce)) {
      auto other = StartThread([this] { Work(); });
      if (!other) break;  // the existing ones do all of the work
      others.push_back(*std::move(other));
    }
    Work();
    for (std::thread& other : others) other.join();

    HookOutcome outcome;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      std::optional<Ended>& ended = results_[i];
      if (!ended) continue;
      if (outcome.status && !ended->status) {
        outcome.status = std::move(ended->status);
        outcome.id = call_.commands[i].id;
      }
      if (ended->left_behind) outcome.left_behind.push_back(std::move(ended->left_behind));
    }
    return outcome;
  }

 private:
  void Work() {
    for (std::size_t i = next_++; i < results_.size() && !failed_; i = next_++) {
      const SubprocessSpec child = Child(call_.commands[i]);
      SubprocessResult result = RunSubprocess(child, cancellation_);
      failed_ = failed_ || !Succeeded(result);
      results_[i] = {StatusOf(child, result), std::move(result.left_behind)};
    }
  }

  SubprocessSpec Child(const HookCommand& command) const {
    const auto left = deadline_ - std::chrono::steady_clock::now();
    SubprocessSpec child;
    child.argv = command.argv;
    child.timeout = std::chrono::ceil<std::chrono::milliseconds>(
        std::max(left, std::chrono::steady_clock::duration::zero()));
    child.max_output = kMaxOutput;
    child.excess = SubprocessSpec::Excess::kDiscard;
    return child;
  }

  static bool Succeeded(const SubprocessResult& result) {
    return result.end == SubprocessEnd::kExited && result.code == 0;
  }

  static Status StatusOf(const SubprocessSpec& child, const SubprocessResult& result) {
    if (Succeeded(result)) return {};
    return Fail(ErrorKind::kPrecondition, DescribeWithOutput(child, result));
  }

  struct Ended {
    Status status;
    UniqueFd left_behind;
  };
  const HookCall& call_;
  const std::chrono::steady_clock::time_point deadline_;
  const Cancellation& cancellation_;
  std::vector<std::optional<Ended>> results_;  ///< nothing for commands that did not start
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
};

}  // namespace

Result<HookCall> PlanHook(Hook hook, const ResourceSpec& spec, std::span<const Variables> units) {
  HookCall call;
  call.resource = spec.name;
  call.hook = hook;
  if (hook == Hook::kPreStart) call.patience = kMaxPreStart;
  for (const Variables& unit : units) call.devices.insert(unit.device->id);
  const std::optional<HookSpec>& wanted = HookOf(spec, hook);
  if (!wanted) return call;
  call.timeout = wanted->timeout;
  if (hook == Hook::kAllocate) call.patience = wanted->timeout;
  std::set<std::vector<std::string>> known;
  for (const Variables& unit : units) {
    std::vector<std::string> argv;
    for (const Template& argument : wanted->argv) argv.push_back(TRY(argument.Render(unit)));
    if (known.insert(argv).second) call.commands.push_back({std::string(unit.id), std::move(argv)});
    for (const DeviceNode& node : unit.device->nodes) {
      if (node.type == FileType::kBlock) call.disks.push_back({std::string(unit.id), node});
    }
  }
  return call;
}

HookOutcome RunHook(const HookCall& call, std::chrono::steady_clock::time_point deadline,
                    const Cancellation& cancellation) {
  if (call.commands.empty()) return {};
  return Batch(call, deadline, cancellation).Run();
}

}  // namespace patchbay
