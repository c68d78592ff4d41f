// Each claim of a call is a task that goes through its steps on its own:
//
//   Prepare:   read the file, lock the claim, read the file again, get the claim from the API
//              server, lock its devices, read the files of other claims, plan, render, run hooks,
//              write the file; if there is a file, see claim_check.cc
//   Unprepare: lock the claim, read the file, lock its devices, run hooks, remove the file; see
//              claim_release.cc
//
// Decisions are made on the loop. Work that can hang runs elsewhere and owns what it uses: it
// returns with the number of the task, which may have ended by then. The lock is shared with it, so
// that no other call begins while a write or a hook of this one may still take effect.

#include "dra/claim_preparer.h"

#include <algorithm>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "dra/claim_json.h"
#include "dra/claim_task.h"

namespace patchbay {
namespace {

constexpr ThreadPool::Options kFileThreads{.max_running = 4,
                                           .patience = std::chrono::seconds(1),
                                           .max_overdue = 12,
                                           .max_idle = 1,
                                           .end_patience = std::chrono::milliseconds(500)};

}  // namespace

ClaimPreparer::ClaimPreparer(Dependencies dependencies, Loop& loop, Log& log)
    : dependencies_(std::move(dependencies)),
      files_(dependencies_.cdi_dir, dependencies_.driver),
      loop_(loop),
      log_(log),
      pool_(kFileThreads) {}

ClaimPreparer::~ClaimPreparer() = default;

void ClaimPreparer::Prepare(std::vector<ClaimKey> claims, ClaimCall call,
                            std::function<void(PrepareResults)> done) {
  loop_.Post(lifetime_.Guard(
      [this, claims = std::move(claims), call = std::move(call), done = std::move(done)]() mutable {
        Begin(Action::kPrepare, claims, call, std::move(done));
      }));
}

void ClaimPreparer::Unprepare(std::vector<ClaimKey> claims, ClaimCall call,
                              std::function<void(UnprepareResults)> done) {
  loop_.Post(lifetime_.Guard(
      [this, claims = std::move(claims), call = std::move(call), done = std::move(done)]() mutable {
        Begin(Action::kRelease, claims, call, std::move(done));
      }));
}

ClaimPreparer::Task& ClaimPreparer::AddTask(Action action, const ClaimKey& claim,
                                            const ClaimCall& call, std::function<void(Answer)> done,
                                            std::shared_ptr<Specs> of_call) {
  const Id id = next_++;
  const Loop::Time now = loop_.Now();
  const auto hooks_end = std::min(now + dependencies_.hook_limit, call.deadline - kReserve);
  Task task{id, action, claim, call, hooks_end, now, std::move(done), std::move(of_call)};
  return *tasks_.emplace(id, std::make_unique<Task>(std::move(task))).first->second;
}

/// Starts a task for each claim. The last one to end completes the call.
template <class Results>
void ClaimPreparer::Begin(Action action, const std::vector<ClaimKey>& claims, const ClaimCall& call,
                          std::function<void(Results)> done) {
  using One = typename Results::mapped_type;
  const auto results = std::make_shared<Results>();
  const auto of_call = std::make_shared<Specs>();
  for (const ClaimKey& claim : claims) of_call->emplace_back(claim, std::nullopt);
  for (const ClaimKey& claim : claims) {
    auto end = [results, size = claims.size(), done, uid = claim.uid](Answer answer) {
      One one;
      if (!answer) {
        one = Failure(std::move(answer).error());
      } else if constexpr (std::is_same_v<One, Answer>) {
        one = *std::move(answer);
      }
      results->insert_or_assign(uid, std::move(one));
      if (results->size() == size) done(std::move(*results));
    };
    const bool is_refused = tasks_.size() >= kMaxClaims;
    Task& task = AddTask(action, claim, call, std::move(end), of_call);
    if (is_refused) {
      FailTask(task,
               {ErrorKind::kUnavailable,
                Format("{} claims are processed already; the kubelet will try again", kMaxClaims)});
    } else if (action == Action::kPrepare) {
      StartPrepare(task);
    } else {
      StartUnprepare(task);
    }
  }
}

/// Locks names, again and again until it succeeds or the call is nearly over: the kubelet does not
/// receive a reason after the deadline.
void ClaimPreparer::Lock(Task& task, const std::vector<std::string>& names,
                         std::function<void(Task&)> next) {
  if (IsOver(task) || loop_.Now() >= task.call.deadline - kReserve) {
    return FailTask(task, WhyOver(task).value());
  }
  using Locked = Result<std::shared_ptr<ClaimLock>>;
  InPool(
      task,
      [path = dependencies_.lock_file, held = task.lock, names]() -> Locked {
        const auto lock = held != nullptr ? held : TRY(ClaimLock::Open(path));
        return TRY(lock->TryLock(names)) ? lock : nullptr;
      },
      [this, names, next](Task& resumed, Locked locked) {
        if (!locked) return FailTask(resumed, std::move(locked).error());
        if (*locked != nullptr) {
          resumed.lock = *std::move(locked);
          return next(resumed);
        }
        resumed.waiting = loop_.After(kLockRetry, Resume(resumed.id, [this, names, next](Task& t) {
                                        t.waiting = {};
                                        Lock(t, names, next);
                                      }));
      });
}

/// Locks the claim, and continues with the content of its file, which no other call changes now.
void ClaimPreparer::LockClaim(
    Task& task, std::function<void(Task&, Result<std::optional<PreparedClaim>>)> next) {
  Lock(task, {Format("claim {}", task.claim.uid)}, [this, next = std::move(next)](Task& locked) {
    InPool(
        locked, [files = files_, uid = locked.claim.uid] { return files.Read(uid); }, next);
  });
}

/// Without a lock at first. What was read does not count if a claim was released in the meantime.
void ClaimPreparer::StartPrepare(Task& task) {
  InPool(
      task, [files = files_, uid = task.claim.uid] { return files.Read(uid); },
      [this, before = releases_](Task& read, const Result<std::optional<PreparedClaim>>& prepared) {
        if (prepared && *prepared && !IsReleasedSince(read.claim, before)) {
          return AnswerFromFile(read, **prepared, before);
        }
        LockAndPrepare(read);
      });
}

void ClaimPreparer::LockAndPrepare(Task& task) {
  LockClaim(task, [this](Task& locked, Result<std::optional<PreparedClaim>> prepared) {
    OnLocked(locked, std::move(prepared));
  });
}

void ClaimPreparer::OnLocked(Task& task, Result<std::optional<PreparedClaim>> prepared) {
  if (!prepared && prepared.error().kind != ErrorKind::kInvalid) {
    return FailTask(task, std::move(prepared).error());
  }
  if (prepared && *prepared && !released_.contains(task.claim.uid)) {
    return AnswerFromFile(task, **prepared, releases_);
  }
  if (!prepared) {
    log_.Warning("CDI file of a claim is damaged; preparing the claim again",
                 {{"reason", prepared.error().message}});
  }
  task.waiting = dependencies_.get_claim(
      task.claim, Resume(task.id, [this](Task& t, Result<std::string> json) { OnClaim(t, json); }));
}

void ClaimPreparer::OnClaim(Task& task, const Result<std::string>& json) {
  task.waiting = {};
  // An error is explained by the plan, like all others.
  task.allocated =
      json ? ParseClaim(*json, dependencies_.driver) : Result<ResourceClaim>(Failure(json.error()));
  std::vector<std::string> devices;
  if (task.allocated) {
    for (const AllocatedDevice& device : task.allocated->devices) {
      task.pools.insert(device.pool);
      if (!device.admin_access) devices.push_back(LockNameOf(device.pool, device.device));
    }
  }
  Lock(task, devices, [this](Task& locked) { OnDevicesLocked(locked); });
}

void ClaimPreparer::OnDevicesLocked(Task& task) {
  InPool(
      task,
      [files = files_,
       of_call = *task.of_call]() mutable -> Result<std::pair<ClaimFiles::All, Specs>> {
        TRY(files.CheckWritable());
        for (auto& [claim, spec] : of_call) {
          if (auto file = files.ReadSpec(claim.uid)) spec = *std::move(file);
        }
        return std::pair(TRY(files.ReadAll()), std::move(of_call));
      },
      [this](Task& read, Result<std::pair<ClaimFiles::All, Specs>> files) {
        if (!files) return FailTask(read, std::move(files).error());
        for (std::size_t i = 0; i < read.of_call->size(); ++i) {
          auto& known = (*read.of_call)[i].second;
          if (!known) known = std::move(files->second[i].second);
        }
        OnOthers(read, files->first);
      });
}

void ClaimPreparer::OnOthers(Task& task, const ClaimFiles::All& others) {
  for (const std::string& problem : others.damaged) {
    if (damaged_.contains(problem)) continue;
    log_.Warning("CDI file of a claim is damaged; its devices count as free; delete it if unused",
                 {{"reason", problem}});
  }
  damaged_ = {others.damaged.begin(), others.damaged.end()};
  std::vector<PreparedUse> uses;
  for (const PreparedClaim& prepared : others.claims) {
    for (PreparedUse& use : UsesOf(prepared)) {
      use.file = files_.PathOf(prepared.claim.uid);
      uses.push_back(std::move(use));
    }
  }
  task.resources = dependencies_.resources();
  ServedPools pools;
  for (const auto& [name, served] : task.resources) pools.emplace(name, served.devices.get());
  const ClaimRequest request{task.claim, std::move(task.allocated)};
  auto plan = std::move(PlanClaims({&request, 1}, dependencies_.driver, pools, uses).front());
  if (!plan) return Refuse(task, std::move(plan).error());
  task.plan = *std::move(plan);
  Render(task);
}

/// Renders each request where lookups of its resource can hang.
void ClaimPreparer::Render(Task& task) {
  task.pending = task.plan.requests.size();
  task.responses.resize(task.pending);
  for (std::size_t i = 0; i < task.plan.requests.size(); ++i) {
    using Response = Result<ContainerResponse>;
    const PlannedRequest& request = task.plan.requests[i];
    const ServedResource& served = task.resources.find(request.devices.front().pool)->second;
    const auto post = [&loop = loop_,
                       resume = Resume(task.id, [this, i](Task& rendered, Response response) {
                         if (response) {
                           rendered.responses[i] = *std::move(response);
                         } else {
                           OnNotRendered(rendered, i, std::move(response).error());
                         }
                         if (--rendered.pending == 0) OnRendered(rendered);
                       })](Response response) {
      loop.Post(
          [resume, response = std::move(response)]() mutable { resume(std::move(response)); });
    };
    const auto response = std::make_shared<Response>();
    served.lookups->Run(
        [response, request, devices = served.devices](const AllocationContext& context) {
          *response = RenderRequest(request, devices->snapshot(), context);
        },
        [response, post] { post(std::move(*response)); },
        [post](std::string why) { post(Fail(ErrorKind::kUnavailable, std::move(why))); });
  }
}

void ClaimPreparer::OnNotRendered(Task& task, std::size_t request, Error error) {
  if (error.kind != ErrorKind::kInvalid) {
    task.resources.at(task.plan.requests[request].devices.front().pool).on_stale_list();
  }
  if (task.failed) task.failed = Failure(std::move(error));
}

void ClaimPreparer::OnRendered(Task& task) {
  if (!task.failed) return FailTask(task, std::move(task.failed).error());
  auto spec = ClaimSpec(dependencies_.driver, task.plan, task.responses);
  if (!spec) return FailTask(task, std::move(spec).error());
  for (auto& [claim, file] : *task.of_call) {
    if (claim.uid == task.claim.uid) file = *spec;
  }
  if (Status together = CheckCall(task); !together) {
    return FailTask(task, std::move(together).error());
  }
  // Both are rendered before the first one runs.
  auto allocate = PlanClaimHooks(Hook::kAllocate, task.plan, task.resources);
  if (!allocate) return FailTask(task, std::move(allocate).error());
  auto pre_start = PlanClaimHooks(Hook::kPreStart, task.plan, task.resources);
  if (!pre_start) return FailTask(task, std::move(pre_start).error());
  task.allocate = *std::move(allocate);
  task.pre_start = *std::move(pre_start);
  task.spec = *std::move(spec);
  if (task.allocate.empty() && task.pre_start.empty()) return Write(task);
  // Hooks must not run if it is known that the file cannot be read or written afterwards.
  const auto readable = ReadClaimSpec(task.spec, files_.driver(), task.claim.uid);
  if (!readable) return FailTask(task, readable.error());
  InPool(
      task,
      [files = files_, uid = task.claim.uid, spec_of_claim = task.spec] {
        return files.CheckRoom(uid, spec_of_claim);
      },
      [this](Task& checked, Status room) {
        if (!room) return FailTask(checked, std::move(room).error());
        RunPrepareHooks(checked);
      });
}

Status ClaimPreparer::CheckCall(const Task& task) const {
  const CdiSpec* own = nullptr;
  for (const auto& [claim, file] : *task.of_call) {
    if (claim.uid == task.claim.uid) own = &*file;
  }
  for (const auto& [claim, file] : *task.of_call) {
    if (file && &*file != own) TRY(CheckTogether(claim, *file, task.claim, *own));
  }
  return {};
}

void ClaimPreparer::RunPrepareHooks(Task& task) {
  RunHooks(task, std::move(task.allocate), [this](Task& allocated, Status status) {
    if (!status) return FailTask(allocated, std::move(status).error());
    RunHooks(allocated, std::move(allocated.pre_start), [this](Task& started, Status last) {
      if (!last) return FailTask(started, std::move(last).error());
      Write(started);
    });
  });
}

/// Runs hooks, and continues when all have ended, with the first failure.
void ClaimPreparer::RunHooks(Task& task, std::vector<HookRun>&& runs,
                             std::function<void(Task&, Status)> next) {
  if (IsOver(task)) return FailTask(task, WhyOver(task).value());
  if (runs.empty()) return next(task, {});
  task.pending = runs.size();
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(task.hooks_end - loop_.Now());
  for (auto& [runner, call] : runs) {
    if (call.hook != Hook::kRelease) call.patience = std::max(left, std::chrono::milliseconds(0));
    auto resume = Resume(task.id, [next](Task& ended, Status status) {
      if (!status && ended.failed) ended.failed = std::move(status);
      if (--ended.pending == 0) next(ended, std::exchange(ended.failed, {}));
    });
    // Unlocks before the result can end the task: the kubelet may call again at once.
    runner->Run(std::move(call),
                [&loop = loop_, resume, lock = task.lock](const Status& status) mutable {
                  lock.reset();
                  loop.Post([resume, status]() mutable { resume(status); });
                });
  }
}

void ClaimPreparer::Write(Task& task) {
  if (IsOver(task)) return FailTask(task, WhyOver(task).value());
  using Written = Result<PreparedClaim>;
  InPool(
      task,
      [files = files_, uid = task.claim.uid, spec = std::move(task.spec)]() -> Written {
        TRY(files.Write(uid, spec));
        return ReadClaimSpec(spec, files.driver(), uid);
      },
      [this](Task& written, Written prepared) {
        if (!prepared) return FailTask(written, std::move(prepared).error());
        released_.erase(written.claim.uid);
        std::vector<PreparedDevice> answer = AnswerFor(*prepared);
        log_.Info("claim prepared",
                  {{"claim", ClaimName(written.claim)}, {"devices", answer.size()}});
        Finish(written, std::move(answer));
      });
}

/// Returns whether the kubelet no longer waits for the call.
bool ClaimPreparer::IsOver(const Task& task) const {
  return is_ending_ || task.call.canceled.stop_requested() || loop_.Now() >= task.call.deadline;
}

Failure ClaimPreparer::WhyOver(const Task& task) const {
  if (is_ending_) {
    return Fail(ErrorKind::kUnavailable,
                "this process shuts down; the kubelet will try again after the restart");
  }
  if (task.call.canceled.stop_requested()) {
    return Fail(ErrorKind::kUnavailable, "the call was canceled");
  }
  return Fail(ErrorKind::kUnavailable,
              "timed out; another call may still run hooks for the claim or its devices, "
              "and the kubelet will try again");
}

/// Ends a task with an error that names the claim already.
void ClaimPreparer::Refuse(Task& task, Error error) {
  error.message = Printable(error.message);
  log_.Warning(
      task.action == Action::kPrepare ? "preparing a claim failed" : "releasing a claim failed",
      {{"claim", ClaimName(task.claim)}, {"reason", error.message}});
  Finish(task, Failure(std::move(error)));
}

void ClaimPreparer::FailTask(Task& task, Error error) {
  error.message = Format("ResourceClaim {}: {}", ClaimName(task.claim), error.message);
  Refuse(task, std::move(error));
}

void ClaimPreparer::Finish(Task& task, Answer answer) {
  const auto ended = tasks_.extract(task.id);
  ended.mapped()->lock.reset();  // the next call may come before this function returns
  ClaimEnd end{ended.mapped()->action, std::move(ended.mapped()->pools), answer.has_value(),
               loop_.Now() - ended.mapped()->began};
  if (answer) {
    for (const PreparedDevice& device : *answer) end.pools.insert(device.pool);
  }
  dependencies_.on_claim_end(end);
  ended.mapped()->done(std::move(answer));
  dependencies_.on_ended();
  if (!unused_waiters_.empty()) NotifyUnused();
}

Subscription ClaimPreparer::AwaitUnused(const std::string& pool, std::function<void()> done) {
  const Id id = next_++;
  unused_waiters_.emplace(id, Waiter{pool, std::move(done)});
  loop_.Post(lifetime_.Guard([this] { NotifyUnused(); }));
  return Subscription(lifetime_.Guard([this, id] { unused_waiters_.erase(id); }));
}

void ClaimPreparer::NotifyUnused() {
  std::set<std::string> used;
  for (const auto& [id, task] : tasks_) used.insert(task->pools.begin(), task->pools.end());
  std::vector<std::function<void()>> unused;
  std::erase_if(unused_waiters_, [&](auto& waiter) {
    if (used.contains(waiter.second.pool)) return false;
    unused.push_back(std::move(waiter.second.done));
    return true;
  });
  for (const auto& done : unused) done();
}

}  // namespace patchbay
