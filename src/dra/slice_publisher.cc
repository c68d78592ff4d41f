// Everything that can change what is to be written calls Advance, which starts at most one request:
// the sample that shows the features of the API server, the UID of the node, or the next write of a
// plan. When the request ends, Advance runs again. A plan is a value computed from the slices at
// the API server; it is abandoned when the pool changes or a write fails, and the next plan
// continues. Nothing is written between a change of the features and on_features, because the
// server would store the old pools without the fields that it drops: an unhealthy device as a
// healthy one.
//
// A conflict (409) and a slice that is gone (404, 410) mean that the known slices are outdated, so
// they are listed again before the next plan.

#include "dra/slice_publisher.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/format.h"
#include "dra/json_fields.h"

namespace patchbay {
namespace {

constexpr std::string_view kNodesPath = "/api/v1/nodes/";
constexpr std::size_t kMaxUid = 128;
/// Of the pool that is sent to determine features, and never stored.
constexpr std::string_view kSamplePool = "sample";

Result<std::string> UidOfNode(const std::string& body) {
  const nlohmann::json node = TRY(ParseJson(body));
  const nlohmann::json* metadata = TRY(ObjectMember(node, "metadata"));
  std::string uid = metadata == nullptr ? "" : TRY(TextMember(*metadata, "uid", kMaxUid));
  if (uid.empty()) return Fail(ErrorKind::kInvalid, "the node has no UID");
  return uid;
}

}  // namespace

SlicePublisher::SlicePublisher(const Dependencies& deps, Options options, Functions functions)
    : deps_(deps),
      options_(std::move(options)),
      functions_(std::move(functions)),
      store_(options_.driver, options_.node_name),
      owner_{options_.driver, options_.node_name, ""},
      policy_(options_.seed),
      deletion_policy_(options_.seed),
      watch_(deps_.client, deps_.loop,
             {.path = std::string(kSlicesPath),
              .field_selector =
                  Format("spec.driver={},spec.nodeName={}", options_.driver, options_.node_name)},
             {.on_page = [this](const ListedObjects& listed) { OnPage(listed); },
              .on_events = [this](const std::vector<WatchEvent>& events) { OnEvents(events); },
              .on_error = [this](const ApiError& error) { LogError(error, watch_error_); },
              .on_begin = [this] { OnWatching(); }},
             options_.seed) {}

void SlicePublisher::SetNames(std::set<std::string> names) {
  has_names_ = true;
  for (const auto& [name, pool] : pools_) removed_.insert(name);
  for (const std::string& name : names) removed_.erase(name);
  std::erase_if(pools_, [&](const auto& pool) { return !names.contains(pool.first); });
  if (execution_ && !names.contains(execution_->pool)) execution_->is_abandoned = true;
  for (const std::string& name : names) pools_.try_emplace(name, options_.seed);
  if (store_.SetPools(names)) return Relist();
  Advance();
}

void SlicePublisher::SetPool(PublishedPool pool) {
  const auto found = pools_.find(pool.name);
  if (found == pools_.end()) return;
  auto& [name, known] = *found;
  const std::size_t content = ContentHash(pool);
  if (known.content == content) return;
  if (execution_ && execution_->pool == name) execution_->is_abandoned = true;
  known.content = content;
  known.is_served = pool.not_served.empty();
  known.wanted = std::move(pool);
  known.is_dirty = true;
  known.is_changed = true;
  Advance();
}

/// A kubelet that starts does not disagree with the daemon: what it deleted is published at once.
/// The API server often starts with it, so errors of before are no reason to wait.
void SlicePublisher::OnKubeletRegistered() {
  for (auto& [name, pool] : pools_) {
    pool.corrections = 0;
    pool.correction_not_before = {};
    pool.policy.Reset();
    pool.not_before = {};
  }
  policy_.Reset();
  retry_not_before_ = {};
  deletion_policy_.Reset();
  deletion_not_before_ = {};
  Relist();
}

SlicePublisher::PoolState SlicePublisher::StateOf(const std::string& pool) const {
  PoolState state;
  for (const PublishedSlice& published : store_.SlicesOf(pool)) {
    ++state.slices;
    state.generation = std::max(state.generation, published.slice.generation);
  }
  const auto found = pools_.find(pool);
  if (found == pools_.end()) return state;
  state.writes = found->second.writes;
  state.failures = found->second.failures;
  state.last_error = found->second.last_error;
  const bool is_being_written = execution_ && execution_->pool == pool;
  state.is_current =
      is_listed_ && found->second.content && !found->second.is_dirty && !is_being_written;
  return state;
}

/// Calls on_state once for all changes of this turn of the loop.
void SlicePublisher::NotifySoon() {
  if (std::exchange(is_notifying_, true)) return;
  deps_.loop.Post(lifetime_.Guard([this] {
    is_notifying_ = false;
    functions_.on_state();
  }));
}

void SlicePublisher::WakeAt(Loop::Time when) {
  const auto delay = std::max(when - deps_.loop.Now(), Loop::Duration::zero());
  wake_ = deps_.loop.After(delay, [this] { Advance(); });
}

void SlicePublisher::Advance() {
  NotifySoon();
  if (is_requesting_ || is_computing_pools_ || !is_listed_ || !has_names_) return;
  if (execution_ && execution_->is_abandoned) DropExecution();
  if (!execution_) {
    if (deps_.loop.Now() < retry_not_before_) return WakeAt(retry_not_before_);
    if (owner_.node_uid.empty()) return ReadNode();
    if (is_probe_due_) return Probe();
    if (!StartPlan()) return;
  }
  if (execution_->needs_node) return ReadNode();
  WriteNext();
}

/// Starts the next plan that is due; returns false if there is none, and wakes up for the next one.
bool SlicePublisher::StartPlan() {
  std::optional<Loop::Time> next;
  auto obsolete = ObsoleteSlices(next);
  if (!obsolete.empty() && deletion_not_before_ <= deps_.loop.Now()) {
    Begin("", {.deletions = std::move(obsolete), .updates = {}, .creations = {}}, false);
    return true;
  }
  if (!obsolete.empty()) next = std::min(next.value_or(deletion_not_before_), deletion_not_before_);
  for (auto& [name, pool] : pools_) {
    if (!pool.is_dirty || !pool.content || !pool.is_served) continue;
    const bool is_correction = pool.is_foreign && !pool.is_changed;
    const Loop::Time due =
        is_correction ? std::max(pool.not_before, pool.correction_not_before) : pool.not_before;
    if (due > deps_.loop.Now()) {
      next = std::min(next.value_or(due), due);
    } else if (StartPlanOf(name, pool)) {
      return true;
    }
  }
  // The slices beyond the bounds of a list, as soon as there is room.
  if (store_.is_incomplete() && has_deleted_) {
    Relist();
    return false;
  }
  if (next) WakeAt(*next);
  return false;
}

/// Returns the slices of pools that are not served. Those of pools that this process never had stay
/// until they have existed for kUnknownPoolLimit, because the other process of a rolling update can
/// have a newer configuration; `next` is the time when the next one exceeds the limit.
std::vector<SliceKey> SlicePublisher::ObsoleteSlices(std::optional<Loop::Time>& next) {
  const Loop::Time now = deps_.loop.Now();
  std::map<std::string, Loop::Time> unknown;
  std::vector<SliceKey> obsolete;
  for (const auto& [name, slices] : store_.pools()) {
    const auto pool = pools_.find(name);
    if (pool != pools_.end() && (!pool->second.content || pool->second.is_served)) continue;
    if (pool == pools_.end() && !removed_.contains(name)) {
      const auto known = unknown_since_.find(name);
      const Loop::Time since = known == unknown_since_.end() ? now : known->second;
      unknown.emplace(name, since);
      const Loop::Time end = since + kUnknownPoolLimit;
      if (now < end) {
        next = std::min(next.value_or(end), end);
        continue;
      }
    }
    for (const PublishedSlice& slice : slices) {
      // The writer of a foreign slice must not keep it by changing it all the time.
      obsolete.push_back(slice.key);
      if (slice.is_foreign) obsolete.back().resource_version.clear();
    }
  }
  unknown_since_ = std::move(unknown);
  return obsolete;
}

/// Returns false if the API server has the pool as it shall be.
bool SlicePublisher::StartPlanOf(const std::string& name, Pool& pool) {
  if (!pool.wanted) pool.wanted = functions_.pool_of(name);
  if (!pool.wanted) return false;
  const auto published = store_.SlicesOf(name);
  SlicePlan plan = PlanSlices(name, pool.wanted->devices, published, owner_.node_uid);
  pool.is_dirty = false;
  const bool is_changed = std::exchange(pool.is_changed, false);
  const bool is_correction = std::exchange(pool.is_foreign, false) && !is_changed;
  if (plan.IsEmpty()) {
    pool.wanted.reset();
    return false;
  }
  // The node may have been created again, with another UID.
  const bool needs_node =
      !plan.creations.empty() || std::ranges::any_of(published, [&](const PublishedSlice& slice) {
        return slice.owner_uid != owner_.node_uid;
      });
  Begin(name, std::move(plan), needs_node);
  if (is_correction) ++pool.corrections;
  execution_->is_correction = is_correction;
  execution_->is_change = is_changed;
  return true;
}

void SlicePublisher::Begin(std::string pool, SlicePlan plan, bool needs_node) {
  // Those of other pools can be of another Patchbay, with another configuration.
  const auto foreign = std::ranges::count(plan.deletions, "", &SliceKey::resource_version);
  if (foreign > 0 && !pool.empty()) {
    deps_.log.Warning(
        "deleting resource slices of this driver and node that Patchbay did not write; check who "
        "may write resource slices",
        {{"pool", pool}, {"slices", foreign}});
  }
  execution_ =
      Execution{.pool = std::move(pool), .plan = std::move(plan), .needs_node = needs_node};
}

/// Ends a plan that was not executed completely. The next one of its pool continues.
void SlicePublisher::DropExecution() {
  if (!execution_) return;
  if (Pool* pool = CurrentPool()) {
    pool->is_dirty = true;
    pool->is_changed = pool->is_changed || execution_->is_change;
    pool->is_foreign = pool->is_foreign || execution_->is_correction;
  }
  execution_.reset();
}

void SlicePublisher::Send(ApiRequest request, std::function<void(const ApiResult&)> done) {
  is_requesting_ = true;
  request_ = deps_.client.Send(std::move(request),
                               [this, done = std::move(done)](const ApiResult& result) {
                                 is_requesting_ = false;
                                 done(result);
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
  const bool is_other = owner_.node_uid != *uid;
  owner_.node_uid = *std::move(uid);
  if (!execution_) return;
  execution_->needs_node = false;
  if (!is_other) return;
  // The plan was for slices of the former node.
  DropExecution();
  retry_not_before_ = deps_.loop.Now() + kMinInterval;
}

void SlicePublisher::Probe() {
  const ResourceSlice sample = FeatureSample(std::string(kSamplePool));
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
  is_computing_pools_ = true;
  deps_.loop.Post(lifetime_.Guard([this] {
    functions_.on_features();
    is_computing_pools_ = false;
    Advance();
  }));
}

/// After reading the node or a sample failed: nothing can be planned without them.
void SlicePublisher::RetryLater(const ApiError& error) {
  retry_not_before_ = deps_.loop.Now() + policy_.NextDelay(error);
  DropExecution();
  LogError(error, request_error_);
}

/// Logs an error once, until a request of its kind succeeds.
void SlicePublisher::LogError(const ApiError& error, std::string& last) {
  NotifySoon();
  if (std::exchange(last, error.message) == error.message) return;
  deps_.log.Warning("a request to the API server failed; retrying", {{"reason", error.message}});
}

}  // namespace patchbay
