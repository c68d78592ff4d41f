// Each probe has a thread of its own, because it can hang in the kernel and never return: such a
// thread is abandoned. Jobs wait in a queue for each resource, and the resources take turns.

#include "health/probe_pool.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "base/format.h"
#include "base/utc_text.h"

namespace patchbay {
namespace {

/// The maximum number of probes that hang in the kernel, of one resource and of all. Above it, no
/// further probes are started.
constexpr std::size_t kMaxGivenUpOfOne = 64;
constexpr std::size_t kMaxGivenUp = 256;
/// The time that the destructor waits for cancelled jobs.
constexpr std::chrono::milliseconds kPatienceAtEnd{1200};

}  // namespace

struct ProbePool::Task {
  Target target;
  std::chrono::milliseconds patience;
  Job job;
  Done done;
  std::optional<std::string> hang = {};  ///< the reported reason, if it was abandoned
  UniqueFd program = {};                 ///< the process that it left behind
  Subscription awaited = {};             ///< the timer of its patience, or the end of that program
  std::unique_ptr<Task> next = {};       ///< runs when this task, which was dropped, ends
};

ProbeOutcome ProbePool::Hang(const Task& task, std::string reason) {
  ProbeOutcome outcome{ProbeResult::kTimeout, std::move(reason)};
  outcome.took = task.patience;
  return outcome;
}

ProbePool::ProbePool(Loop& loop, int max_at_once) : loop_(loop), max_at_once_(max_at_once) {}

ProbePool::~ProbePool() {
  const auto hanging_threads = std::count_if(begun_.begin(), begun_.end(), [](const auto& begun) {
    return begun.second.hang && !begun.second.program;
  });
  threads_.End(kPatienceAtEnd, static_cast<std::size_t>(hanging_threads));
}

void ProbePool::SetMostAtOnce(int max_at_once) {
  max_at_once_ = max_at_once;
  StartNext();
}

void ProbePool::Run(const Target& target, std::chrono::milliseconds patience, Job job, Done done) {
  Task task{target, patience, std::move(job), std::move(done)};
  const auto dropped = begun_.find(target);
  if (dropped == begun_.end()) {
    waiting_[target.first].push_back(std::move(task));
    return StartNext();
  }
  Task& before = dropped->second;
  before.done = task.done;
  if (before.hang) return GiveUp(before, Hang(before, *before.hang));
  before.next = std::make_unique<Task>(std::move(task));
}

void ProbePool::Drop(const std::string& resource) {
  waiting_.erase(resource);
  for (auto& [target, task] : begun_) {
    if (target.first != resource) continue;
    task.done = [](const ProbeOutcome&) {};
    task.next.reset();
  }
}

std::size_t ProbePool::GivenUpOf(const std::string& resource) const {
  std::size_t count = 0;
  for (auto at = begun_.lower_bound({resource, ""});
       at != begun_.end() && at->first.first == resource; ++at) {
    if (at->second.hang) ++count;
  }
  return count;
}

void ProbePool::StartNext() {
  RefuseWaiting();
  while (running_ < max_at_once_ && !waiting_.empty()) {
    auto turn = waiting_.upper_bound(last_turn_);
    if (turn == waiting_.end()) turn = waiting_.begin();
    last_turn_ = turn->first;
    Task task = std::move(turn->second.front());
    turn->second.pop_front();
    if (turn->second.empty()) waiting_.erase(turn);
    Begin(std::move(task));
  }
}

/// A probe that cannot run is an error: the device must not keep its last health.
void ProbePool::RefuseWaiting() {
  if (given_up() < kMaxGivenUpOfOne) return;
  const bool too_many = given_up() >= kMaxGivenUp;
  std::vector<Task> refused;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (!too_many && GivenUpOf(at->first) < kMaxGivenUpOfOne) {
      ++at;
      continue;
    }
    std::move(at->second.begin(), at->second.end(), std::back_inserter(refused));
    at = waiting_.erase(at);
  }
  for (const Task& task : refused) {
    task.done({ProbeResult::kError, Format("not run: {} probes hang in the kernel; check what they "
                                           "wait for, such as a disk that does not respond",
                                           too_many ? given_up() : kMaxGivenUpOfOne)});
  }
}

void ProbePool::Begin(Task task) {
  const Target target = task.target;
  const auto on_done = lifetime_.Guard(
      [this, target](ProbeOutcome& outcome) { OnDone(target, std::move(outcome)); });
  const Status started = threads_.Run([job = std::exchange(task.job, nullptr), on_done,
                                       &loop = loop_](const JobThreads::Owner& owner) {
    const auto outcome = std::make_shared<ProbeOutcome>(job());
    owner.Call([&] { loop.Post([done = on_done, outcome]() mutable { done(*outcome); }); });
  });
  if (!started) {
    return task.done({ProbeResult::kError, Format("not run: {}", started.error().message)});
  }
  ++running_;
  task.awaited = loop_.After(task.patience, [this, target] { OnLate(target); });
  begun_.emplace(target, std::move(task));
}

void ProbePool::OnLate(const Target& target) {
  Task& task = begun_.at(target);
  const auto begun = std::chrono::system_clock::now() - task.patience;
  GiveUp(task, Hang(task, Format("its probe has been hanging in the kernel since {}; the device "
                                 "cannot be probed again until that probe ends",
                                 UtcText(begun))));
  StartNext();
}

void ProbePool::OnDone(const Target& target, ProbeOutcome outcome) {
  Task& task = begun_.at(target);
  if (!outcome.left_behind) return End(target, std::move(outcome));
  task.program = std::move(outcome.left_behind);
  task.awaited = loop_.OnReadable(task.program.get(), [this, target] { OnProgramEnded(target); });
  if (task.hang) return;  // already reported
  outcome.reason +=
      Format("; it was killed at {}, and the device cannot be probed again until it ends",
             UtcText(std::chrono::system_clock::now()));
  GiveUp(task, std::move(outcome));
  StartNext();
}

void ProbePool::OnProgramEnded(const Target& target) {
  if (HasEnded(begun_.at(target).program)) End(target, {});
}

void ProbePool::GiveUp(Task& task, ProbeOutcome outcome) {
  if (!task.hang) {
    --running_;
    task.hang = outcome.reason;
    task.next.reset();
    if (!task.program) task.awaited = Subscription();
  }
  outcome.hangs = true;
  const Done done = task.done;  // a copy, because it can drop the task
  done(std::move(outcome));
}

void ProbePool::End(const Target& target, ProbeOutcome outcome) {
  auto node = begun_.extract(target);
  Task& task = node.mapped();
  if (!task.hang) --running_;
  if (task.next) {
    waiting_[target.first].push_front(std::move(*task.next));
  } else {
    outcome.over = task.hang.has_value();
    task.done(std::move(outcome));
  }
  StartNext();
}

}  // namespace patchbay
