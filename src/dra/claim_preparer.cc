// The loop owns the calls and the runs; a ClaimRun owns what its thread uses, and reaches the loop
// through a LoopPort, which Close closes. Functions for the loop hold the preparer weakly, because
// the last call of the kubelet can end after everything else.

#include "dra/claim_preparer.h"

#include <algorithm>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "os/threads.h"

namespace patchbay {
namespace {

/// The pause before claims are compared again with their devices after that failed.
constexpr std::chrono::seconds kComparePause{5};

std::string ClaimName(const ClaimKey& claim) {
  return Format("{}/{}", claim.namespace_name, claim.name);
}

}  // namespace

ClaimPreparer::ClaimPreparer(Dependencies dependencies, Loop& loop, Log& log)
    : dependencies_(std::move(dependencies)),
      environment_(new ClaimEnvironment{
          .store = std::make_shared<ClaimStore>(dependencies_.directory, dependencies_.cdi_dir,
                                                dependencies_.driver, dependencies_.boot),
          .lock_file = dependencies_.directory + "/serialize.lock",
          .port = std::make_shared<LoopPort>(loop),
          .log = &log,
          .hook_limit = dependencies_.hook_limit,
          .lock_limit = dependencies_.lock_limit,
          .writes_metadata = dependencies_.writes_metadata,
          .on_step = dependencies_.on_step}),
      loop_(loop),
      log_(log) {}

ClaimPreparer::~ClaimPreparer() { environment_->port->Close(); }

void ClaimPreparer::Close() {
  is_closed_ = true;
  environment_->port->Close();
  compare_ = Subscription();
  runs_.clear();
  waiting_.clear();
  unused_waiters_.clear();
}

/// Returns a function that calls `f` unless the preparer is closed. To be called on the loop.
template <class F>
auto ClaimPreparer::Guard(F f) {
  return [weak = weak_from_this(), f = std::move(f)](auto&&... arguments) mutable {
    const auto self = weak.lock();
    if (self && !self->is_closed_) f(std::forward<decltype(arguments)>(arguments)...);
  };
}

void ClaimPreparer::Prepare(std::vector<ClaimKey> claims, ClaimCall call,
                            std::function<void(ClaimResults)> done) {
  environment_->port->Post(Guard([this, claims = std::move(claims), call, done = std::move(done)] {
    Begin(Action::kPrepare, claims, call, done);
  }));
}

void ClaimPreparer::Unprepare(std::vector<ClaimKey> claims, ClaimCall call,
                              std::function<void(ClaimResults)> done) {
  environment_->port->Post(Guard([this, claims = std::move(claims), call, done = std::move(done)] {
    Begin(Action::kRelease, claims, call, done);
  }));
}

/// Joins or starts a run for each claim. The last one to end completes the call.
void ClaimPreparer::Begin(Action action, const std::vector<ClaimKey>& claims,
                          const ClaimCall& limits, std::function<void(ClaimResults)> done) {
  const auto call = std::make_shared<Call>();
  call->claims = claims;
  call->done = std::move(done);
  const Loop::Time now = loop_.Now();
  for (const ClaimKey& claim : claims) {
    auto at = std::ranges::find_if(runs_, [&](const auto& run) {
      return run.second.action == action && run.second.claim == claim;
    });
    Caller caller{call, {}, now};
    if (at == runs_.end()) {
      const auto active = std::ranges::count_if(
          runs_, [](const auto& run) { return run.second.action != Action::kRefresh; });
      if (static_cast<std::size_t>(active) >= kMaxClaims) {
        Reply({action, claim}, std::move(caller),
              Fail(ErrorKind::kUnavailable,
                   Format("{} claims are processed already; the kubelet will try again",
                          kMaxClaims)));
        continue;
      }
      at = runs_.find(Start(action, claim));
    }
    if (at->second.file) call->files.emplace_back(claim, *at->second.file);
    caller.limit = loop_.After(std::max(limits.deadline - kReserve - now, Loop::Duration(0)),
                               Guard([this, id = at->first, call] { OnLate(id, call); }));
    at->second.callers.push_back(std::move(caller));
  }
}

ClaimPreparer::Id ClaimPreparer::Start(Action action, const ClaimKey& claim) {
  const Id id = next_++;
  runs_.emplace(
      id, Run{action, claim, std::make_shared<ClaimRun>(environment_, claim, FunctionsOf(id))});
  if (action != Action::kRelease && running_ >= kMaxThreads) {
    waiting_.push_back(id);
  } else {
    Launch(id);
  }
  return id;
}

void ClaimPreparer::Launch(Id id) {
  const Action action = runs_.at(id).action;
  if (action != Action::kRelease) ++running_;
  const std::function<void(Answer)> end =
      Guard([this, id](Answer result) { OnEnd(id, std::move(result)); });
  const auto post = [port = environment_->port, end](Answer result) {
    port->Post([end, result = std::move(result)]() mutable { end(std::move(result)); });
  };
  const Status started =
      threads_.Run([run = runs_.at(id).run, action, post](const JobThreads::Owner&) {
        if (action == Action::kPrepare) {
          post(run->Prepare());
        } else {
          const Status status = action == Action::kRelease ? run->Release() : run->Refresh();
          post(status ? Answer() : Answer(Failure(status.error())));
        }
        // After that: a call that comes after another run of the claim must not join this one.
        run->Unlock();
      });
  if (!started) post(tl::unexpected(started.error()));
}

ClaimRun::OnLoop ClaimPreparer::FunctionsOf(Id id) {
  const auto with_run = [weak = weak_from_this(), id](auto f) {
    const auto self = weak.lock();
    if (!self || self->is_closed_) return;
    const auto at = self->runs_.find(id);
    if (at != self->runs_.end()) f(*self, at->second);
  };
  return {.get_claim =
              [with_run](bool always, const std::function<void(Result<std::string>)>& done) {
                with_run([&](ClaimPreparer& self, Run& run) {
                  if (!always && !self.dependencies_.is_api_server_up()) {
                    return done(Fail(ErrorKind::kUnavailable, "the API server does not respond"));
                  }
                  run.request = self.dependencies_.get_claim(run.claim, done);
                });
              },
          .resources =
              [with_run] {
                ServedResources resources;
                with_run(
                    [&](ClaimPreparer& self, Run&) { resources = self.dependencies_.resources(); });
                return resources;
              },
          .on_pools =
              [with_run](const std::set<std::string>& pools) {
                with_run([&](ClaimPreparer&, Run& run) { run.pools = pools; });
              },
          .check_call =
              [with_run](CdiSpec file, const std::shared_ptr<const ClaimRecords>& records) {
                Status status;
                with_run([&](ClaimPreparer& self, Run& run) {
                  status = self.CheckCall(run, std::move(file), records.get());
                });
                return status;
              }};
}

Status ClaimPreparer::CheckCall(Run& run, CdiSpec file, const ClaimRecords* records) {
  for (const Caller& caller : run.callers) {
    for (const auto& [claim, other] : caller.call->files) {
      if (claim != run.claim) TRY(CheckTogether(claim, other, run.claim, file));
    }
    if (records == nullptr) continue;
    for (const ClaimKey& claim : caller.call->claims) {
      const auto record = records->claims.find(claim.uid);
      const bool is_prepared = record != records->claims.end() && record->second->is_finished &&
                               record->second->boot == environment_->store->boot();
      if (claim == run.claim || !is_prepared) continue;
      if (const auto other = CdiFromJson(record->second->cdi_file)) {
        TRY(CheckTogether(claim, *other, run.claim, file));
      }
    }
  }
  for (const Caller& caller : run.callers) caller.call->files.emplace_back(run.claim, file);
  run.file = std::move(file);
  return {};
}

/// The kubelet receives a reason before its deadline, and the run continues.
void ClaimPreparer::OnLate(Id id, std::shared_ptr<Call> call) {
  const auto at = runs_.find(id);
  if (at == runs_.end()) return;
  auto& [action, claim, run, callers, pools, file, again, request] = at->second;
  const auto caller = std::ranges::find(callers, call, &Caller::call);
  if (caller == callers.end()) return;
  Caller late = std::move(*caller);
  callers.erase(caller);
  log_.Warning("call for a claim is not finished in time; it continues",
               {{"claim", ClaimName(claim)}, {"reason", run->step()}});
  Reply(at->second, std::move(late),
        Fail(ErrorKind::kUnavailable,
             Format("still at this step: {}; the kubelet will try again", run->step())));
}

void ClaimPreparer::OnEnd(Id id, Answer answer) {
  const auto ended = runs_.extract(id);
  if (ended.empty()) return;
  Run& run = ended.mapped();
  if (run.action != Action::kRelease) --running_;
  if (!waiting_.empty() && running_ < kMaxThreads) {
    Launch(waiting_.front());
    waiting_.pop_front();
  }
  if (answer) {
    moved_.erase(run.claim.uid);
  } else if (run.run->has_compared() && answer.error().kind == ErrorKind::kPrecondition) {
    moved_.insert_or_assign(run.claim.uid, answer.error().message);
  } else if (run.action == Action::kRefresh) {
    CompareLater(run.claim);
  }
  if (answer && run.action == Action::kPrepare) {
    log_.Info("claim prepared", {{"claim", ClaimName(run.claim)}, {"devices", answer->size()}});
  } else if (answer && run.action == Action::kRelease) {
    log_.Info("claim released", {{"claim", ClaimName(run.claim)}});
  }
  for (Caller& caller : run.callers) Reply(run, std::move(caller), answer);
  if (run.again) Start(Action::kRefresh, run.claim);
  dependencies_.on_ended(run.action);
  if (!unused_waiters_.empty()) NotifyUnused();
}

/// Sets the answer of one claim of a call, and completes the call with the last one.
void ClaimPreparer::Reply(const Run& run, Caller caller, Answer answer) {
  if (!answer) {
    std::string& message = answer.error().message;
    if (!message.starts_with("ResourceClaim ")) {
      message = Format("ResourceClaim {}: {}", ClaimName(run.claim), message);
    }
    message = Printable(message);
    log_.Warning(
        run.action == Action::kPrepare ? "preparing a claim failed" : "releasing a claim failed",
        {{"claim", ClaimName(run.claim)}, {"reason", message}});
  }
  dependencies_.on_claim_end(
      {run.action, run.pools, answer.has_value(), loop_.Now() - caller.began});
  Call& call = *caller.call;
  call.answers.insert_or_assign(run.claim.uid, std::move(answer));
  if (call.answers.size() == call.claims.size()) call.done(std::move(call.answers));
}

void ClaimPreparer::Refresh(const std::vector<ClaimKey>& claims) {
  for (const ClaimKey& claim : claims) {
    const auto running =
        std::ranges::find_if(runs_, [&](const auto& run) { return run.second.claim == claim; });
    if (running == runs_.end()) {
      Start(Action::kRefresh, claim);
    } else {
      running->second.again = true;
    }
  }
}

void ClaimPreparer::CompareLater(const ClaimKey& claim) {
  unknown_.push_back(claim);
  if (compare_) return;
  compare_ = loop_.After(kComparePause, Guard([this] {
                           compare_ = Subscription();
                           Refresh(std::exchange(unknown_, {}));
                         }));
}

Subscription ClaimPreparer::AwaitUnused(const std::string& pool, std::function<void()> done) {
  const Id id = next_++;
  unused_waiters_.emplace(id, Waiter{pool, std::move(done)});
  loop_.Post(Guard([this] { NotifyUnused(); }));
  return Subscription(Guard([this, id] { unused_waiters_.erase(id); }));
}

void ClaimPreparer::NotifyUnused() {
  std::set<std::string> used;
  for (const auto& [id, run] : runs_) used.insert(run.pools.begin(), run.pools.end());
  std::vector<std::function<void()>> unused;
  std::erase_if(unused_waiters_, [&](auto& waiter) {
    if (used.contains(waiter.second.pool)) return false;
    unused.push_back(std::move(waiter.second.done));
    return true;
  });
  for (const auto& done : unused) done();
}

}  // namespace patchbay
