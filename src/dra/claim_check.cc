// A claim that has a file is prepared, unless the claim was allocated again since. The kubelet
// releases a claim before it can lose its allocation, but not if the pod was deleted by force and
// the kubelet restarted, or if the kubelet lost its state. The kubelet has requested the claim from
// the API server itself right before its call, so another request is cheap and seldom fails. If
// it does, the file is the best answer: nearly always the claim is as it was.

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "dra/claim_json.h"
#include "dra/claim_preparer.h"
#include "dra/claim_task.h"

namespace patchbay {

/// Returns whether a call releases the claim, whose file exists until its hooks have ended.
bool ClaimPreparer::IsReleasing(const ClaimKey& claim) const {
  return std::ranges::any_of(tasks_, [&](const auto& task) {
    return task.second->action == Action::kRelease && task.second->claim.uid == claim.uid;
  });
}

/// Returns whether a file of the claim that was read without a lock may be outdated. `releases` is
/// the number of releases before it was read.
bool ClaimPreparer::IsReleasedSince(const ClaimKey& claim, std::uint64_t releases) const {
  return released_.contains(claim.uid) || IsReleasing(claim) || releases_ != releases;
}

/// Answers from the file of the claim, after the API server has confirmed it if it responds.
void ClaimPreparer::AnswerFromFile(Task& task, const PreparedClaim& prepared,
                                   std::uint64_t releases) {
  if (!dependencies_.is_api_server_up()) return Finish(task, AnswerFor(prepared));
  const auto check = [this, prepared, releases](Task& t, const Result<std::string>& json) {
    OnChecked(t, prepared, releases, json);
  };
  task.limit = loop_.After(kCheckLimit, Resume(task.id, [check](Task& t) {
                             check(t, Fail(ErrorKind::kUnavailable, "timed out"));
                           }));
  task.waiting = dependencies_.get_claim(task.claim, Resume(task.id, check));
}

/// Answers from a file that was read without a lock, unless another process has released the claim
/// during the request.
void ClaimPreparer::Confirm(Task& task, PreparedClaim file) {
  InPool(
      task, [files = files_, uid = task.claim.uid] { return files.Read(uid); },
      [this, file = std::move(file)](Task& t,
                                     const Result<std::optional<PreparedClaim>>& prepared) {
        const bool is_same = prepared && *prepared && **prepared == file;
        return is_same ? Finish(t, AnswerFor(file)) : LockAndPrepare(t);
      });
}

void ClaimPreparer::OnChecked(Task& task, const PreparedClaim& prepared, std::uint64_t releases,
                              const Result<std::string>& json) {
  // Copies, because the subscriptions own the function that called this one.
  PreparedClaim file = prepared;
  const auto claim =
      json ? ParseClaim(*json, dependencies_.driver) : Result<ResourceClaim>(Failure(json.error()));
  task.waiting = {};
  task.limit = {};
  // No other call releases a locked claim.
  if (task.lock == nullptr && IsReleasedSince(task.claim, releases)) return LockAndPrepare(task);
  if (!claim || claim->key.uid != task.claim.uid || !claim->is_allocated ||
      IsAllocatedAsPrepared(*claim, file)) {
    if (task.lock == nullptr) return Confirm(task, std::move(file));
    return Finish(task, AnswerFor(file));
  }
  if (task.lock == nullptr) return LockAndPrepare(task);
  FailTask(task, {ErrorKind::kPrecondition,
                  Format("is prepared with other devices than it has now, and its containers can "
                         "still use those; delete its pods and wait for the kubelet to release "
                         "it; if none of its containers runs, remove {}",
                         files_.PathOf(task.claim.uid))});
}

}  // namespace patchbay
