// The part of SlicePublisher that executes a plan: one request at a time, deletions first, then
// updates, then creations. Each result changes the store at once, so that the event about an own
// write is no change. A failure ends the plan; its pool is planned again after a delay.

#include <utility>

#include "base/format.h"
#include "dra/slice_publisher.h"

namespace patchbay {
namespace {

std::string TargetOf(std::string_view path, const SliceKey& key) {
  return Format("{}/{}", path, EncodeForUrl(key.name));
}

/// A slice that is gone (404) is only known too late, like one that was changed (409): the kubelet
/// deletes the slices one by one when it starts.
ApiRetry RetryOfWrite(const ApiError& error) {
  return error.status == 404 ? ApiRetry::kReread : RetryFor(error);
}

/// Returns whether the slices at the API server are not those that are known.
bool IsOutdated(ApiRetry retry) { return retry == ApiRetry::kReread || retry == ApiRetry::kRelist; }

}  // namespace

void SlicePublisher::WriteNext() {
  const SlicePlan& plan = execution_->plan;
  std::size_t index = execution_->next++;
  if (index < plan.deletions.size()) {
    const SliceKey key = plan.deletions[index];
    return Send(
        {.verb = ApiVerb::kDelete, .target = TargetOf(kSlicesPath, key), .body = DeletionJson(key)},
        [this, key](const ApiResult& result) { OnDeleted(key, result); });
  }
  index -= plan.deletions.size();
  if (index < plan.updates.size()) {
    const SliceUpdate& update = plan.updates[index];
    return Send({.verb = ApiVerb::kUpdate,
                 .target = TargetOf(kSlicesPath, update.key),
                 .body = UpdateJson(update, owner_)},
                [this, sent = update.slice](const ApiResult& result) { OnWritten(sent, result); });
  }
  index -= plan.updates.size();
  if (index < plan.creations.size()) {
    const SliceCreation& creation = plan.creations[index];
    return Send(
        {.verb = ApiVerb::kCreate,
         .target = std::string(kSlicesPath),
         .body = CreationJson(creation, owner_)},
        [this, sent = creation.slice](const ApiResult& result) { OnWritten(sent, result); });
  }
  Finish();
  Advance();
}

void SlicePublisher::OnWritten(const ResourceSlice& sent, const ApiResult& result) {
  if (!result) return OnWriteFailed(result.error());
  auto stored = ParseSlice(result->body);
  if (!stored) return OnWriteFailed({ApiErrorKind::kResponse, stored.error().message});
  const ServerFeatures found = FeaturesOf(sent, stored->slice);
  store_.OnWritten(*std::move(stored));
  OnWriteSucceeded();
  // A feature that was turned off since the last sample. The sample finds one that is on again.
  ServerFeatures features = features_.value_or(ServerFeatures{});
  features.taints = features.taints && found.taints;
  features.shared_devices = features.shared_devices && found.shared_devices;
  SetFeatures(features);
}

void SlicePublisher::OnDeleted(const SliceKey& key, const ApiResult& result) {
  if (!result && !IsNotFound(result.error())) return OnWriteFailed(result.error());
  has_deleted_ = true;
  store_.OnDeleted(key);
  OnWriteSucceeded();
}

void SlicePublisher::OnWriteSucceeded() {
  Pool& pool = CurrentPool();
  ++pool.writes;
  pool.policy.Reset();
  pool.last_error.clear();
}

void SlicePublisher::OnWriteFailed(const ApiError& error) {
  const ApiRetry retry = RetryOfWrite(error);
  Pool& pool = CurrentPool();
  ++pool.failures;
  pool.not_before = deps_.loop.Now() + pool.policy.NextDelay(error, retry);
  if (&pool == &other_pools_) {
    LogError(error, pool.last_error);
  } else if (std::exchange(pool.last_error, error.message) != error.message) {
    deps_.log.Warning("cannot publish a resource slice; retrying",
                      {{"pool", execution_->pool}, {"reason", error.message}});
  }
  DropExecution();
  if (IsOutdated(retry) || error.kind == ApiErrorKind::kResponse) Relist();
}

/// Completes a plan.
void SlicePublisher::Finish() {
  if (!execution_->pool.empty()) {
    Pool& pool = CurrentPool();
    pool.not_before = deps_.loop.Now() + kMinInterval;
    pool.is_complete = !execution_->is_disputed;
    if (execution_->is_disputed) CountCorrection(pool);
    deps_.log.Info("resource slices published",
                   {{"pool", execution_->pool}, {"writes", execution_->next - 1}});
  }
  execution_.reset();
}

/// Others changed a pool that was complete. Each correction after the first one waits for twice as
/// long as the one before, from the end of that on.
void SlicePublisher::CountCorrection(Pool& pool) {
  if (pool.corrections++ == 0) return;
  Loop::Duration interval = kMinInterval;
  for (unsigned i = 2; i < pool.corrections && interval < kMaxCorrection; ++i) interval *= 2;
  pool.not_before += std::min<Loop::Duration>(interval, kMaxCorrection) - kMinInterval;
}

/// Returns the pool of the current plan, or what stands for other pools and a removed one.
SlicePublisher::Pool& SlicePublisher::CurrentPool() {
  const auto found = pools_.find(execution_->pool);
  return found == pools_.end() ? other_pools_ : found->second;
}

}  // namespace patchbay
