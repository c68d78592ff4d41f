#include <utility>
#include <vector>

#include "dra/claim_json.h"
#include "dra/claim_preparer.h"
#include "dra/claim_task.h"

namespace patchbay {
namespace {

/// The maximum number of claims that are requested at once to determine whether they exist.
constexpr std::size_t kMaxHolderChecks = 16;
/// Longer than release hooks usually take.
constexpr std::chrono::minutes kStaleReleaseLimit{5};

/// A claim that was created again under the same name has another UID. One that is not allocated
/// has no pods any more, and one that was allocated again has no pods that use its former devices.
bool IsGone(const PreparedClaim& prepared, const Result<std::string>& json,
            const std::string& driver) {
  if (!json) return json.error().kind == ErrorKind::kNotFound;
  const auto current = ParseClaim(*json, driver);
  return current && (current->key.uid != prepared.claim.uid || !current->is_allocated ||
                     !IsAllocatedAsPrepared(*current, prepared));
}

}  // namespace

void ClaimPreparer::StartUnprepare(Task& task) {
  LockClaim(task, [this](Task& locked, Result<std::optional<PreparedClaim>> prepared) {
    if (!prepared && prepared.error().kind != ErrorKind::kInvalid) {
      return FailTask(locked, std::move(prepared).error());
    }
    if (locked.stale && (!prepared || *prepared != locked.stale)) return Finish(locked, {});
    if (!prepared) {
      log_.Warning("CDI file of a claim is damaged; its release hooks will not run",
                   {{"claim", ClaimName(locked.claim)}, {"reason", prepared.error().message}});
      return Remove(locked);
    }
    if (!*prepared) {
      // Another process may prepare the claim again, with hooks that must be released.
      released_.erase(locked.claim.uid);
      return Finish(locked, {});
    }
    if (released_.contains(locked.claim.uid)) return Remove(locked);
    locked.prepared = *std::move(prepared);
    std::vector<std::string> devices;
    for (const PreparedUse& use : UsesOf(*locked.prepared)) {
      locked.pools.insert(use.device.pool);
      if (use.device.admin_access) continue;
      devices.push_back(LockNameOf(use.device.pool, use.device.device));
    }
    Lock(locked, devices, [this](Task& ready) {
      InPool(
          ready, [files = files_] { return files.ReadAll(); },
          [this](Task& read, Result<ClaimFiles::All> all) { OnAllRead(read, std::move(all)); });
    });
  });
}

void ClaimPreparer::OnAllRead(Task& task, Result<ClaimFiles::All> all) {
  if (!all) return FailTask(task, std::move(all).error());
  std::erase_if(all->claims,
                [&](const PreparedClaim& claim) { return released_.contains(claim.claim.uid); });
  ReleasePlan plan = PlanClaimRelease(*task.prepared, all->claims, dependencies_.resources());
  for (const MissedRelease& missed : plan.missed) {
    log_.Warning(
        "release hook was not run",
        {{"resource", missed.resource}, {"device", missed.device}, {"reason", missed.reason}});
  }
  RunHooks(task, std::move(plan.runs), [this](Task& t, const Status& released) {
    // A failed hook is reported by its runner, and does not keep the pod from ending. If the
    // program was stopped because this process ends, the file must stay: it runs again after the
    // restart.
    released_.insert(t.claim.uid);
    if (!released && IsOver(t)) return FailTask(t, released.error());
    Remove(t);
  });
}

/// After the kubelet has lost its state, it does not release claims that were deleted, and their
/// devices would stay in use. Their release needs the locks of the call that found them, so the
/// devices are free for the next call of the kubelet.
void ClaimPreparer::ReleaseGone(const std::vector<PreparedClaim>& holders) {
  for (const PreparedClaim& holder : holders) {
    const std::string& uid = holder.claim.uid;
    if (holder_checks_.size() >= kMaxHolderChecks || holder_checks_.contains(uid)) continue;
    auto on_claim = [this, holder](const Result<std::string>& json) {
      if (IsGone(holder, json, dependencies_.driver)) {
        log_.Warning("prepared claim no longer exists or no longer has its devices; releasing it",
                     {{"claim", ClaimName(holder.claim)}});
        ReleaseStale(holder, [](const Answer&) {});
      }
      holder_checks_.erase(std::string(holder.claim.uid));  // destroys this function
    };
    holder_checks_[uid] =
        dependencies_.get_claim(holder.claim, lifetime_.Guard(std::move(on_claim)));
  }
}

/// Releases a claim unless its file has changed, because it was released and prepared again.
void ClaimPreparer::ReleaseStale(const PreparedClaim& stale, std::function<void(Answer)> done) {
  Task& task = AddTask(Action::kRelease, stale.claim, {loop_.Now() + kStaleReleaseLimit, {}},
                       std::move(done));
  task.stale = stale;
  StartUnprepare(task);
}

void ClaimPreparer::Remove(Task& task) {
  InPool(
      task, [files = files_, uid = task.claim.uid] { return files.Remove(uid); },
      [this](Task& removed, Status status) {
        if (!status) return FailTask(removed, std::move(status).error());
        released_.erase(removed.claim.uid);
        ++releases_;
        log_.Info("claim released", {{"claim", ClaimName(removed.claim)}});
        Finish(removed, {});
      });
}

}  // namespace patchbay
