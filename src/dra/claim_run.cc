// Prepare: lock the claim, read its record, get the claim from the API server, lock its devices,
// read the records of others, plan, render, write the CDI file under a temporary name and the
// record, unfinished if there are hooks, run them, render again, rename the CDI file, finish the
// record. Release is its mirror. A process that is killed between two steps leaves a record that
// says what is left to do, and the devices stay held until Release.
//
// Only a record of this boot that is finished has a CDI file, and only while its devices are where
// they were: a container gets any device with the numbers in the file.

#include "dra/claim_run.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/escape.h"
#include "base/format.h"
#include "dra/claim_json.h"
#include "dra/claim_plan.h"

namespace patchbay {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kLoopLimit{10};

}  // namespace

ClaimRun::ClaimRun(std::shared_ptr<ClaimEnvironment> environment, ClaimKey claim, OnLoop on_loop)
    : environment_(std::move(environment)),
      store_(*environment_->store),
      port_(*environment_->port),
      claim_(std::move(claim)),
      on_loop_(std::move(on_loop)) {}

Failure ClaimRun::ShutsDown() {
  return Fail(ErrorKind::kUnavailable,
              "this process shuts down; the kubelet will try again after the restart");
}

std::string ClaimRun::step() const {
  const std::lock_guard lock(mutex_);
  return step_;
}

Status ClaimRun::Step(std::string_view step) {
  {
    const std::lock_guard lock(mutex_);
    step_ = step;
  }
  if (environment_->is_ending) return ShutsDown();
  if (environment_->on_step && !environment_->on_step(step)) {
    return Fail(ErrorKind::kUnavailable, "stopped");
  }
  return {};
}

void ClaimRun::WriteLog(LogLevel level, std::string message, std::string reason) {
  port_.Post([log = environment_->log, level, message = std::move(message),
              claim = Format("{}/{}", claim_.namespace_name, claim_.name),
              reason = std::move(reason)] {
    if (level == LogLevel::kInfo) return log->Info(message, {{"claim", claim}, {"reason", reason}});
    log->Warning(message, {{"claim", claim}, {"reason", reason}});
  });
}

/// Tries until all names are locked; another run, also of another process, may have them.
Status ClaimRun::Lock(const std::vector<std::string>& names, std::chrono::milliseconds limit) {
  if (!lock_) lock_ = TRY(ClaimLock::Open(environment_->lock_file, environment_->locks));
  while (!TRY(lock_->TryLock(names))) {
    const auto next = steady_clock::now() + kRetry;
    if (next >= began_ + limit) {
      return Fail(ErrorKind::kUnavailable,
                  "timed out; another call may still run hooks for the claim or its devices, and "
                  "the kubelet will try again");
    }
    if (!port_.SleepUntil(next) || environment_->is_ending) return ShutsDown();
  }
  return {};
}

template <class Devices>
void ClaimRun::ReportPools(const Devices& devices) {
  std::set<std::string> pools;
  for (const auto& device : devices) pools.insert(device.pool);
  port_.Post([on_pools = on_loop_.on_pools, pools] { on_pools(pools); });
}

/// A device to which a claim has admin access can be prepared for another one at the same time.
template <class Devices>
Status ClaimRun::LockDevices(const Devices& devices) {
  ReportPools(devices);
  std::vector<std::string> names;
  for (const auto& device : devices) {
    if (!device.admin_access) names.push_back(Format("device {}/{}", device.pool, device.device));
  }
  TRY(Step("waiting for the locks of its devices"));
  return Lock(names, environment_->lock_limit);
}

/// Returns the claims that hold devices. A claim whose release hooks have run holds none.
std::vector<const PreparedClaim*> ClaimRun::HeldClaims(const ClaimRecords& records) {
  const std::lock_guard lock(environment_->mutex);
  std::vector<const PreparedClaim*> held;
  for (const auto& [uid, record] : records.claims) {
    if (!environment_->released.contains(uid)) held.push_back(record.get());
  }
  return held;
}

/// Returns null if the claim has no record, or one that counts as none.
Result<const PreparedClaim*> ClaimRun::FindRecord(const Records& records) {
  if (const auto bad = records->bad.find(claim_.uid); bad != records->bad.end()) {
    const auto& [file, why, is_of_boot] = bad->second;
    if (why.kind == ErrorKind::kPrecondition) return Failure(why);
    if (is_of_boot) {
      return Fail(ErrorKind::kUnavailable,
                  Format("{}; if no container of the claim runs on this node, remove the file",
                         why.message));
    }
    WriteLog(LogLevel::kWarning, "record of a claim is damaged; starting again", why.message);
    return nullptr;
  }
  const std::lock_guard lock(environment_->mutex);
  const auto record = records->claims.find(claim_.uid);
  if (record == records->claims.end() || environment_->released.contains(claim_.uid)) {
    return nullptr;
  }
  return record->second.get();
}

Result<ResourceClaim> ClaimRun::Get(bool is_prepared) {
  const auto limit = is_prepared ? kCheckLimit : kGetLimit;
  const auto json = port_.Await<Result<std::string>>(steady_clock::now() + limit, [&](auto done) {
    port_.Post([get = on_loop_.get_claim, is_prepared, done] { get(!is_prepared, done); });
  });
  if (!json) {
    return Fail(ErrorKind::kUnavailable,
                "timed out waiting for the API server; the kubelet will try again");
  }
  return ParseClaim(TRY(*json), store_.driver());
}

Result<ServedResources> ClaimRun::Resources() {
  auto resources = port_.Call(steady_clock::now() + kLoopLimit, on_loop_.resources);
  if (!resources) return ShutsDown();
  return *std::move(resources);
}

Result<std::vector<PreparedRequest>> ClaimRun::Prepare() {
  TRY(Step("waiting for the lock of the claim"));
  TRY(Lock({"claim " + claim_.uid}, environment_->lock_limit));
  TRY(Step("reading the records of claims"));
  const Records records = TRY(store_.Read());
  const PreparedClaim* const known = TRY(FindRecord(records));
  const bool is_prepared = known != nullptr && known->is_finished && known->boot == store_.boot();
  TRY(Step("waiting for the API server"));
  auto claim = Get(is_prepared);
  if (known != nullptr && claim && claim->key.uid == claim_.uid && claim->is_allocated &&
      !IsAllocatedAsPrepared(*claim, *known)) {
    return Fail(ErrorKind::kPrecondition,
                Format("is prepared with other devices than it has now, and its containers can "
                       "still use those; delete its pods and wait for the kubelet to release it; "
                       "if none of its containers runs, remove {}",
                       store_.PathOf(claim_.uid)));
  }
  if (is_prepared) return Keep(*known);

  if (claim) TRY(LockDevices(claim->devices));
  TRY(Step("planning"));
  const ServedResources resources = TRY(Resources());
  const PreparedClaim plan = TRY(Plan(claim, resources));
  TRY(Step("looking up device nodes"));
  ClaimSpec spec = TRY(Render(plan, resources));
  const auto together = port_.Call(
      steady_clock::now() + kLoopLimit,
      [check = on_loop_.check_call, file = spec.file, records] { return check(file, records); });
  if (!together) return ShutsDown();
  TRY(*together);
  hooks_[0] = TRY(PlanClaimHooks(Hook::kAllocate, plan, resources));
  hooks_[1] = TRY(PlanClaimHooks(Hook::kPreStart, plan, resources));
  const bool has_hooks = !hooks_[0].empty() || !hooks_[1].empty();

  PreparedClaim record = std::move(spec.record);
  RecordDevices(resources, record);
  record.boot = store_.boot();
  record.is_finished = !has_hooks;
  TRY(Step("writing the CDI file"));
  std::string temporary = TRY(store_.cdi().WriteTemporary(record.cdi_file));
  const auto finish = [&]() -> Status {
    TRY(Step("writing the record"));
    TRY(store_.Write(record, has_hooks));
    {
      const std::lock_guard lock(environment_->mutex);
      environment_->released.erase(claim_.uid);
    }
    if (has_hooks) record = TRY(RunPrepareHooks(plan, resources, record, temporary));
    TRY(Step("writing the metadata"));
    TRY(store_.WriteMetadata(record));
    TRY(Step("publishing the CDI file"));
    TRY(store_.Publish(temporary, claim_.uid));
    if (!has_hooks) return {};
    record.is_finished = true;
    TRY(Step("finishing the record"));
    return store_.Write(record, true);
  };
  if (Status finished = finish(); !finished) {
    static_cast<void>(store_.cdi().Remove(temporary));
    return Failure(std::move(finished).error());
  }
  WarnAboutOwners(plan, spec.file, resources);
  return record.requests;
}

/// Answers for a claim that is prepared, if its containers can still have its devices.
Result<std::vector<PreparedRequest>> ClaimRun::Keep(const PreparedClaim& record) {
  TRY(Step("comparing its devices"));
  has_compared_ = true;
  const ServedResources resources = TRY(Resources());
  ReportPools(DevicesOf(record));
  DeviceState state = CompareDevices(record, resources);
  if (state.is_known && state.reason.empty()) {
    TRY(Step("looking up device nodes"));
    state.reason = TRY(FindMoved(record, resources));
  }
  if (!state.reason.empty()) {
    const bool had_file = store_.HasCdi(record);
    TRY(store_.RemoveCdi(claim_.uid));
    if (had_file) {
      WriteLog(LogLevel::kWarning,
               "devices of a claim are not where they were; its CDI file was removed",
               state.reason);
    }
    return Fail(ErrorKind::kPrecondition, state.reason);
  }
  TRY(store_.WriteMetadata(record));
  if (!store_.HasCdi(record)) {
    if (!state.is_known) {
      return Fail(ErrorKind::kNotFound,
                  "its resource is not served, or its device was not found yet since Patchbay "
                  "started; check the configuration and \"patchbay devices\"");
    }
    WriteLog(LogLevel::kWarning, "CDI file of a claim was lost or changed; writing it again",
             store_.cdi().path());
    TRY(store_.WriteCdi(record));
  }
  if (auto file = CdiFromJson(record.cdi_file)) {
    const auto together = port_.Call(
        steady_clock::now() + kLoopLimit,
        [check = on_loop_.check_call, file = *std::move(file)] { return check(file, nullptr); });
    if (together) TRY(*together);
  }
  return record.requests;
}

/// Plans the claim while its devices are locked, so that no other run gives one away.
Result<PreparedClaim> ClaimRun::Plan(const Result<ResourceClaim>& claim,
                                     const ServedResources& resources) {
  const Records records = TRY(store_.Read());
  ServedPools pools;
  for (const auto& [name, served] : resources) pools.emplace(name, served.devices.get());
  const auto held = HeldClaims(*records);
  auto plan = PlanClaim(claim_, claim, {store_.driver(), pools, held, store_.directory()});
  if (!plan) return plan;
  const bool is_admin = std::ranges::all_of(claim->devices, &AllocatedDevice::admin_access);
  for (const auto& [uid, bad] : records->bad) {
    if (is_admin || uid == claim_.uid || !bad.is_of_boot) continue;
    return Fail(ErrorKind::kPrecondition,
                Format("a device of it may be in use, because the record of another claim cannot "
                       "be read: {}; if no container of that claim runs on this node, remove the "
                       "file",
                       bad.why.message));
  }
  return plan;
}

/// The runtime gave such a node to the user of the container when the CDI file had no owner.
void ClaimRun::WarnAboutOwners(const PreparedClaim& plan, const CdiSpec& file,
                               const ServedResources& resources) {
  for (std::size_t i = 0; i < file.devices.size(); ++i) {
    const PreparedRequest& request = plan.requests[i];
    const auto& spec = *resources.at(request.devices.front().pool).devices->snapshot().spec;
    const bool is_private = std::ranges::any_of(
        file.devices[i].edits.device_nodes,
        [](const CdiDeviceNode& node) { return node.type != 0 && (node.mode & 06U) != 06U; });
    if (!is_private || spec.grant_group) continue;
    const std::lock_guard lock(environment_->mutex);
    if (!environment_->logged.insert(request.resource).second) continue;
    WriteLog(LogLevel::kInfo,
             "device nodes keep the owner that they have on the host; a container that is not root "
             "cannot open those of this resource unless it has grant_group = true",
             request.resource);
  }
}

Status ClaimRun::Release() {
  TRY(Step("waiting for the lock of the claim"));
  TRY(Lock({"claim " + claim_.uid}, environment_->lock_limit));
  TRY(Step("reading the records of claims"));
  const Records records = TRY(store_.Read());
  const auto bad = records->bad.find(claim_.uid);
  if (bad != records->bad.end()) {
    if (bad->second.why.kind == ErrorKind::kPrecondition) return Failure(bad->second.why);
    WriteLog(LogLevel::kWarning, "record of a claim is damaged; its release hooks will not run",
             bad->second.why.message);
  }
  const auto found = records->claims.find(claim_.uid);
  const bool has_record = found != records->claims.end();
  bool is_released = false;
  {
    const std::lock_guard lock(environment_->mutex);
    is_released = environment_->released.contains(claim_.uid);
  }
  if (has_record && !is_released) {
    PreparedClaim record = *found->second;
    TRY(LockDevices(DevicesOf(record)));
    const Records now = TRY(store_.Read());
    const ServedResources resources = TRY(Resources());
    ReleasePlan plan = TRY(PlanClaimRelease(record, HeldClaims(*now), resources));
    for (const MissedRelease& missed : plan.missed) {
      port_.Post([log = environment_->log, missed] {
        log->Warning(
            "release hook was not run",
            {{"resource", missed.resource}, {"device", missed.device}, {"reason", missed.reason}});
      });
    }
    if (!plan.runs.empty() && record.is_finished) {
      record.is_finished = false;
      TRY(Step("writing the record"));
      TRY(store_.Write(record, true));
    }
    TRY(Step("removing the CDI file"));
    TRY(store_.RemoveCdi(claim_.uid));
    TRY(Step("running the hook release"));
    Status released = RunHooks(std::move(plan.runs));
    // A failed hook is reported by its runner, and does not keep the pod from ending. If it was
    // stopped because this process ends, it runs again after the restart.
    if (!released && environment_->is_ending) return released;
    const std::lock_guard lock(environment_->mutex);
    environment_->released.insert(claim_.uid);
  }
  TRY(Step("removing the CDI file"));
  TRY(store_.RemoveCdi(claim_.uid));
  TRY(Step("removing the metadata"));
  TRY(store_.RemoveMetadata(claim_.uid));
  TRY(Step("removing the record"));
  TRY(store_.Remove(claim_.uid));
  const std::lock_guard lock(environment_->mutex);
  environment_->released.erase(claim_.uid);
  return {};
}

Status ClaimRun::Refresh() {
  TRY(Lock({"claim " + claim_.uid}, kRefreshLockLimit));
  const Records records = TRY(store_.Read());
  const auto found = records->claims.find(claim_.uid);
  if (found == records->claims.end() || !found->second->is_finished ||
      found->second->boot != store_.boot()) {
    return {};
  }
  const auto kept = Keep(*found->second);
  return kept ? Status() : Status(Failure(kept.error()));
}

}  // namespace patchbay
