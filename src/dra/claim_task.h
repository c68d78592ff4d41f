#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "dra/claim_preparer.h"

namespace patchbay {

/// The parts of ClaimPreparer that its sources share; for them only.

/// Returns the name of a device for ClaimLock.
inline std::string LockNameOf(std::string_view pool, std::string_view device) {
  return Format("device {}/{}", pool, device);
}

/// Returns the name of a claim for messages.
inline std::string ClaimName(const ClaimKey& claim) {
  return Format("{}/{}", claim.namespace_name, claim.name);
}

/// One claim of a call. Belongs to the loop thread.
struct ClaimPreparer::Task {
  const Id id;
  const Action action;
  const ClaimKey claim;
  const ClaimCall call;
  const Loop::Time hooks_end;  ///< the limit of allocate and pre_start
  const Loop::Time began;
  std::function<void(Answer)> done;
  std::shared_ptr<Specs> of_call;  ///< the files of its claims, as far as they are known
  std::shared_ptr<ClaimLock> lock = nullptr;
  Subscription waiting = {};  ///< for the API server or for a lock
  Subscription limit = {};    ///< of the wait for the API server
  Result<ResourceClaim> allocated = ResourceClaim();
  std::set<std::string> pools = {};  ///< of the devices, as soon as they are known
  ServedResources resources = {};    ///< those of the plan
  ClaimPlan plan = {};
  std::vector<HookRun> allocate = {};
  std::vector<HookRun> pre_start = {};
  CdiSpec spec = {};                              ///< of the file
  std::vector<ContainerResponse> responses = {};  ///< for the requests of the plan
  std::optional<PreparedClaim> prepared = {};     ///< of Unprepare
  std::size_t pending = 0;                        ///< renderings or hooks that have not ended
  Status failed = {};                             ///< the first failure of these
};

/// Returns a function for the loop thread that continues a task, unless it has ended.
template <class Next>
auto ClaimPreparer::Resume(Id id, Next next) {
  return lifetime_.Guard([this, id, next = std::move(next)](auto&&... arguments) mutable {
    const auto task = tasks_.find(id);
    if (task != tasks_.end()) {
      next(*task->second, std::forward<decltype(arguments)>(arguments)...);
    }
  });
}

/// Runs `work`, which can hang, and continues with its result.
template <class Work, class Next>
void ClaimPreparer::InPool(Task& task, Work work, Next next) {
  using Outcome = decltype(work());
  const auto outcome = std::make_shared<std::optional<Outcome>>();
  const auto post = [&loop = loop_, resume = Resume(task.id, std::move(next))](Outcome result) {
    loop.Post([resume, result = std::move(result)]() mutable { resume(std::move(result)); });
  };
  ThreadPool::Job job;
  job.work = [outcome, work = std::move(work), lock = task.lock]() mutable {
    outcome->emplace(work());
  };
  job.then = [outcome, post] { post(std::move(**outcome)); };
  job.on_late = [post,
                 text = Format("timed out after {} s; the file system of {} or {} is not "
                               "responding",
                               std::chrono::duration<double>(dependencies_.file_limit).count(),
                               files_.directory(), dependencies_.lock_file)] {
    post(Fail(ErrorKind::kUnavailable, text));
  };
  job.limit = dependencies_.file_limit;
  job.needs_thread = true;
  if (!pool_.Run(std::move(job))) {
    post(Fail(ErrorKind::kUnavailable, "no thread is available for the files of claims"));
  }
}

}  // namespace patchbay
