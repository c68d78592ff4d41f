// Claims of pods. The checkpoint is written before a driver is called and after its response, as in
// the kubelet, so that a claim is unprepared even if the kubelet stops in between.

#include <utility>

#include "base/format.h"
#include "sim/kubelet/checkpoint.h"
#include "sim/kubelet/dra_client.h"
#include "sim/kubelet/dra_run.h"

namespace patchbay {
namespace {

/// Adds the operation to an error, as in the event of the pod.
Failure Because(const char* operation, const Error& error) {
  return Fail(error.kind, Format("{}: {}", operation, error.message));
}

}  // namespace

Result<SimPreparedClaims> DraRun::PrepareClaims(const std::string& pod,
                                                const std::vector<SimClaim>& claims) {
  auto prepared = Prepare(pod, claims);
  if (!prepared) return Because("prepare dynamic resources", prepared.error());
  return prepared;
}

Status DraRun::UnprepareClaims(const std::string& pod) {
  const Status unprepared = Unprepare(pod);
  if (!unprepared) return Because("unprepare dynamic resources", unprepared.error());
  return {};
}

Status DraRun::Reconcile(const std::set<std::string>& running) {
  std::set<std::string> pods;
  {
    const std::lock_guard lock(state_->mutex);
    pods = claims_.Pods();
  }
  Status first;
  for (const std::string& pod : pods) {
    if (running.contains(pod)) continue;
    const Status unprepared = UnprepareClaims(pod);
    if (first) first = unprepared;
  }
  return first;
}

Result<SimPreparedClaims> DraRun::Prepare(const std::string& pod,
                                          const std::vector<SimClaim>& claims) {
  Batches batches;
  {
    const std::lock_guard lock(state_->mutex);
    if (ending_) return Fail(ErrorKind::kUnavailable, "the kubelet is stopping");
    for (const SimClaim& claim : claims) TRY(TargetOf(claim.driver));
    for (const SimClaim& claim : TRY(claims_.BeginPrepare(pod, claims))) {
      batches[claim.driver].push_back(claim);
    }
    state_->Changed();
  }
  TRY(Save());
  for (const auto& [driver, batch] : batches) {
    SimClaimAnswers answers =
        TRY(CallDriver("NodePrepareResources", PrepareOnDriver, driver, batch));
    const std::lock_guard lock(state_->mutex);
    for (const SimClaim& claim : batch) {
      claims_.SetDevices(claim, std::move(answers[claim.uid].devices));
      claims_.SetPrepared(claim);
    }
    state_->Changed();
  }
  TRY(Save());
  const std::lock_guard lock(state_->mutex);
  return claims_.Devices(claims);
}

Status DraRun::Unprepare(const std::string& pod) {
  Batches batches;
  {
    const std::lock_guard lock(state_->mutex);
    if (ending_) return Fail(ErrorKind::kUnavailable, "the kubelet is stopping");
    for (const SimClaim& claim : claims_.BeginUnprepare(pod)) {
      batches[claim.driver].push_back(claim);
    }
    state_->Changed();
  }
  for (const auto& [driver, batch] : batches) {
    TRY(CallDriver("NodeUnprepareResources", UnprepareOnDriver, driver, batch));
    const std::lock_guard lock(state_->mutex);
    for (const SimClaim& claim : batch) claims_.Remove(claim);
    state_->Changed();
  }
  return Save();
}

Result<SimClaimAnswers> DraRun::CallDriver(const char* name, Rpc rpc, const std::string& driver,
                                           const std::vector<SimClaim>& claims) {
  Target target;
  {
    const std::lock_guard lock(state_->mutex);
    target = TRY(TargetOf(driver));
  }
  auto answers = rpc(*target.channel, target.api, claims, options_.call_timeout);
  if (!answers) return Because(name, answers.error());
  TRY(CheckClaimAnswers(name, claims, *answers));
  return answers;
}

Result<DraRun::Target> DraRun::TargetOf(const std::string& driver) const {
  const auto id = drivers_.InUse(driver);
  for (const auto& [socket, plugin] : plugins_) {
    if (id && plugin->id == *id) return Target{plugin->channel, plugin->services.plugin};
  }
  return Fail(ErrorKind::kPrecondition, Format("DRA driver {} is not registered", driver));
}

void DraRun::CancelCalls(const std::string& driver) {
  const std::lock_guard lock(state_->mutex);
  for (const auto& [socket, plugin] : plugins_) {
    if (plugin->id != 0 && plugin->driver == driver) {
      plugin->channel->Cancel(PluginChannel::Call::Kind::kUnary);
    }
  }
}

Status DraRun::Save() {
  const std::lock_guard saving(one_save_);
  std::string text;
  {
    const std::lock_guard lock(state_->mutex);
    if (ending_) return Fail(ErrorKind::kUnavailable, "the kubelet is stopping");
    text = claims_.Encode();
  }
  const Status written = WriteStateFile(options_.kubelet_root, kDraStateName, text);
  if (!written) return Because("checkpoint ResourceClaim state", written.error());
  return {};
}

}  // namespace patchbay
