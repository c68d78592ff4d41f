// The requests of SlicePublisher and their results. A plan is executed one request at a time,
// deletions first, then updates, then creations. Each result changes the store at once, so that the
// event about an own write is no change. A failure ends the plan; its pool is planned again after a
// delay.

#include <nlohmann/json.hpp>
#include <utility>

#include "base/format.h"
#include "base/json.h"
#include "dra/slice_publisher.h"

namespace patchbay {
namespace {

constexpr std::string_view kNodesPath = "/api/v1/nodes/";
constexpr std::size_t kMaxUid = 128;

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

Result<std::string> UidOfNode(const std::string& body) {
  const nlohmann::json node = TRY(ParseJson(body));
  const nlohmann::json* metadata = TRY(ObjectMember(node, "metadata"));
  std::string uid = metadata == nullptr ? "" : TRY(TextMember(*metadata, "uid", kMaxUid));
  if (uid.empty()) return Fail(ErrorKind::kInvalid, "the node has no UID");
  return uid;
}

}  // namespace

void SlicePublisher::Send(ApiRequest request, std::function<void(const ApiResult&)> done) {
  is_requesting_ = true;
  request_ = deps_.client.Send(std::move(request),
                               [this, done = std::move(done)](const ApiResult& result) {
                                 done(result);
                                 is_requesting_ = false;
                                 if (std::exchange(must_relist_, false)) return Relist();
                                 if (!held_events_.empty()) ApplyEvents();
                                 Advance();
                               });
}

void SlicePublisher::ReadNode() {
  const std::string target = std::string(kNodesPath) + EncodeForUrl(options_.node_name);
  Send({.verb = ApiVerb::kGet, .target = target},
       [this](const ApiResult& result) { OnNode(result); });
}

void SlicePublisher::OnNode(const ApiResult& result) {
  if (!result) return RetryLater(result.error());
  auto uid = UidOfNode(result->body);
  if (!uid)
    return RetryLater({ApiErrorKind::kResponse,
                       Format("the Node {}: {}", options_.node_name, uid.error().message)});
  policy_.Reset();
  request_error_.clear();
  const bool is_other = !owner_.node_uid.empty() && owner_.node_uid != *uid;
  owner_.node_uid = *std::move(uid);
  is_node_current_ = true;
  // The slices of the former node are being deleted.
  if (is_other) retry_not_before_ = deps_.loop.Now() + kMinInterval;
}

void SlicePublisher::Probe() {
  const ResourceSlice sample = FeatureSample();
  Send({.verb = ApiVerb::kCreate,
        .target = ApiTarget(kSlicesPath, {{"dryRun", "All"}}),
        .body = CreationJson({0, sample}, owner_)},
       [this, sample](const ApiResult& result) { OnProbed(sample, result); });
}

void SlicePublisher::OnProbed(const ResourceSlice& sample, const ApiResult& result) {
  if (!result) return RetryLater(result.error());
  const auto stored = ParseUnstoredSlice(result->body);
  if (!stored) return RetryLater({ApiErrorKind::kResponse, stored.error().message});
  policy_.Reset();
  request_error_.clear();
  is_probe_due_ = false;
  probe_timer_ = deps_.loop.After(kProbeInterval, [this] {
    is_probe_due_ = true;
    Advance();
  });
  SetFeatures(FeaturesOf(sample, *stored));
}

void SlicePublisher::SetFeatures(const ServerFeatures& features) {
  if (features_ == features) return;
  const ServerFeatures before = features_.value_or(ServerFeatures{});
  features_ = features;
  if (!features.taints && before.taints) {
    deps_.log.Warning(
        "the API server drops taints of devices; unhealthy devices leave their resource slices");
  }
  if (!features.shared_devices && before.shared_devices) {
    deps_.log.Warning(
        "the API server drops shared devices; resources with replicas are not published");
  }
  // The server would store the rest of the plan without the fields that it drops: an unhealthy
  // device as a healthy one.
  if (execution_) execution_->is_abandoned = true;
  for (auto& [name, pool] : pools_) pool.is_dirty = true;
  functions_.on_features();
}

/// After reading the node or a sample failed: nothing can be planned without them.
void SlicePublisher::RetryLater(const ApiError& error) {
  retry_not_before_ = deps_.loop.Now() + policy_.NextDelay(error);
  LogError(error, request_error_);
}

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
  ++pool.state.writes;
  pool.policy.Reset();
  pool.state.last_error.clear();
}

void SlicePublisher::OnWriteFailed(const ApiError& error) {
  const ApiRetry retry = RetryOfWrite(error);
  Pool& pool = CurrentPool();
  ++pool.state.failures;
  pool.not_before = deps_.loop.Now() + pool.policy.NextDelay(error, retry);
  if (error.status == 409) OnDispute(pool);
  if (error.status == 409 || execution_->is_disputed) CountCorrection(pool);
  if (&pool == &other_pools_) {
    LogError(error, pool.state.last_error);
  } else if (std::exchange(pool.state.last_error, error.message) != error.message) {
    deps_.log.Warning("cannot publish a resource slice; retrying",
                      {{"pool", execution_->pool}, {"reason", error.message}});
  }
  if (IsOutdated(retry) && store_.is_incomplete()) store_.Forget(execution_->pool);
  DropExecution();
  if (IsOutdated(retry) || error.kind == ApiErrorKind::kResponse) Relist();
}

/// Completes a plan.
void SlicePublisher::Finish() {
  Pool& pool = CurrentPool();
  pool.not_before = deps_.loop.Now() + kMinInterval;
  if (!execution_->pool.empty()) {
    pool.is_complete = !execution_->is_disputed;
    if (execution_->is_disputed) CountCorrection(pool);
    deps_.log.Info("resource slices published",
                   {{"pool", execution_->pool}, {"writes", execution_->next - 1}});
  }
  execution_.reset();
  is_node_current_ = false;
}

/// Returns the pool of the current plan, or what stands for other pools and a removed one.
SlicePublisher::Pool& SlicePublisher::CurrentPool() {
  const auto found = pools_.find(execution_->pool);
  return found == pools_.end() ? other_pools_ : found->second;
}

}  // namespace patchbay
