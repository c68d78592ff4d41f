#include <utility>
#include <vector>

#include "dra/claim_preparer.h"
#include "dra/claim_task.h"

namespace patchbay {
void ClaimPreparer::StartUnprepare(Task& task) {
  LockClaim(task, [this](Task& locked, Result<std::optional<PreparedClaim>> prepared) {
    if (!prepared && prepared.error().kind != ErrorKind::kInvalid) {
      return FailTask(locked, std::move(prepared).error());
    }
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
