// Everything that can change what is to be written calls Advance, which starts at most one request:
// the sample that shows the features of the API server, the UID of the node, or the next write of a
// plan. When the request ends, Advance runs again. A plan is a value computed from the wanted pool
// and the slices at the API server; it is abandoned when the pool or the features change or a write
// fails, and the next plan continues.
//
// A conflict (409) and a slice that is gone (404, 410) mean that the known slices are outdated, so
// they are listed again before the next plan.

#include "dra/slice_publisher.h"

#include <algorithm>
#include <iterator>
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
      other_pools_(options_.seed),
      owner_{options_.driver, options_.node_name, ""},
      policy_(options_.seed),
      watch_(deps_.client, deps_.loop,
             {.path = std::string(kSlicesPath),
              .field_selector =
                  Format("spec.driver={},spec.nodeName={}", options_.driver, options_.node_name)},
             {.on_page = [this](const ListedObjects& listed) { OnPage(listed); },
              .on_events = [this](const std::vector<WatchEvent>& events) { OnEvents(events); },
              .on_error = [this](const ApiError& error) { LogError(error, watch_error_); },
              .on_begin = [this] { OnWatching(); }},
             options_.seed) {}

void SlicePublisher::SetNames(const std::set<std::string>& names) {
  has_names_ = true;
  for (const auto& [name, pool] : pools_) {
    if (names.contains(name)) continue;
    delete_at_[name] = {};
    Abandon(name);
  }
  std::erase_if(pools_, [&](const auto& pool) { return !names.contains(pool.first); });
  for (const std::string& name : names) {
    delete_at_.erase(name);
    pools_.try_emplace(name, options_.seed);
  }
  if (store_.SetPools(names)) return Relist();
  Advance();
}

void SlicePublisher::Changed(const std::string& pool) {
  const auto found = pools_.find(pool);
  if (found == pools_.end()) return;
  found->second.is_dirty = true;
  Abandon(pool);
  Advance();
}

/// A kubelet that starts does not disagree with the daemon: what it deleted is published at once.
/// The API server often starts with it, so errors of before are no reason to wait.
void SlicePublisher::OnKubeletRegistered() {
  const auto reset = [](Pool& pool) {
    pool.corrections = 0;
    pool.policy.Reset();
    pool.not_before = {};
  };
  for (auto& [name, pool] : pools_) reset(pool);
  reset(other_pools_);
  policy_.Reset();
  retry_not_before_ = {};
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
  state.is_current = is_listed_ && found->second.is_complete && !found->second.is_dirty;
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
  if (is_requesting_ || !is_listed_ || !has_names_) return;
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
  const auto is_due = [&, now = deps_.loop.Now()](Loop::Time due) {
    if (due > now) next = std::min(next.value_or(due), due);
    return due <= now;
  };
  if (is_due(other_pools_.not_before)) {
    SlicePlan plan = PlanOtherPools(is_due);
    if (!plan.IsEmpty()) {
      Begin("", std::move(plan));
      return true;
    }
  }
  for (auto& [name, pool] : pools_) {
    if (!pool.is_dirty || !is_due(pool.not_before)) continue;
    auto plan = PlanOf(name);
    if (!plan) continue;
    pool.is_dirty = false;
    pool.is_complete = plan->IsEmpty();
    if (pool.is_complete) continue;
    Begin(name, *std::move(plan));
    return true;
  }
  // The slices beyond the bounds of a list, as soon as there is room.
  if (store_.is_incomplete() && has_deleted_) {
    Relist();
  } else if (next) {
    WakeAt(*next);
  }
  return false;
}

/// Plans the deletion of the slices of other pools. Those of pools that this process never had stay
/// until they have existed for kUnknownPoolLimit, because the other process of a rolling update can
/// have a newer configuration.
SlicePlan SlicePublisher::PlanOtherPools(const std::function<bool(Loop::Time)>& is_due) {
  std::erase_if(delete_at_, [this](const auto& pool) {
    return pool.second != Loop::Time() && !store_.pools().contains(pool.first);
  });
  SlicePlan plan;
  for (const auto& [name, slices] : store_.pools()) {
    if (pools_.contains(name)) continue;
    const auto known = delete_at_.try_emplace(name, deps_.loop.Now() + kUnknownPoolLimit).first;
    if (is_due(known->second))
      std::ranges::transform(slices, std::back_inserter(plan.deletions), DeletionOf);
  }
  return plan;
}

/// Returns the writes after which the API server has the wanted pool; nothing if that is not known.
std::optional<SlicePlan> SlicePublisher::PlanOf(const std::string& name) {
  const auto wanted = functions_.wanted(name);
  if (!wanted) return std::nullopt;
  const auto published = store_.SlicesOf(name);
  if (wanted->not_served.empty()) {
    return PlanSlices(name, wanted->devices, published, owner_.node_uid);
  }
  SlicePlan plan;
  std::ranges::transform(published, std::back_inserter(plan.deletions), DeletionOf);
  return plan;
}

void SlicePublisher::Begin(std::string pool, SlicePlan plan) {
  // Those of other pools can be of another Patchbay, with another configuration.
  const auto foreign = std::ranges::count(plan.deletions, "", &SliceKey::resource_version);
  if (foreign > 0 && !pool.empty()) {
    deps_.log.Warning(
        "deleting resource slices of this driver and node that Patchbay did not write; check who "
        "may write resource slices",
        {{"pool", pool}, {"slices", foreign}});
  }
  // The node may have been created again, with another UID.
  const bool needs_node =
      !plan.creations.empty() ||
      std::ranges::any_of(store_.SlicesOf(pool), [this](const PublishedSlice& slice) {
        return slice.owner_uid != owner_.node_uid;
      });
  execution_ =
      Execution{.pool = std::move(pool), .plan = std::move(plan), .needs_node = needs_node};
}

void SlicePublisher::Abandon(const std::string& pool) {
  if (execution_ && execution_->pool == pool) execution_->is_abandoned = true;
}

/// Ends a plan that was not executed completely. The next one of its pool continues.
void SlicePublisher::DropExecution() {
  if (execution_) CurrentPool().is_dirty = true;
  execution_.reset();
}

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
  // The server would store the rest of the plan without the fields that it drops: an unhealthy
  // device as a healthy one.
  if (execution_) execution_->is_abandoned = true;
  for (auto& [name, pool] : pools_) pool.is_dirty = true;
  functions_.on_features();
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
