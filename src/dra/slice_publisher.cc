// Everything that can change what is to be written calls Advance, which starts at most one request:
// the sample that shows the features of the API server, the UID of the node, or the next write of a
// plan. When the request ends, Advance runs again. A plan is a value computed from the wanted pool
// and the slices at the API server; it is abandoned when the pool or the features change or a write
// fails, and the next plan continues. slice_requests.cc has the requests.
//
// A conflict (409) and a slice that is gone (404, 410) mean that the known slices are outdated, so
// they are listed again before the next plan.

#include "dra/slice_publisher.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/format.h"

namespace patchbay {

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
  if (const auto found = pools_.find(pool); found != pools_.end()) {
    state = found->second.state;
    state.is_current = is_listed_ && found->second.is_complete && !found->second.is_dirty;
  }
  for (const PublishedSlice& published : store_.SlicesOf(pool)) {
    ++state.slices;
    state.generation = std::max(state.generation, published.slice.generation);
  }
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
  WriteNext();
}

/// Others can write slices as fast as they are deleted, so that delays neither the writes of the
/// plan nor other pools for long. Returns whether deletions are left for the next plan.
bool SlicePublisher::Shorten(SlicePlan& plan) {
  if (plan.deletions.size() <= kMaxDeletions) return false;
  plan.deletions.resize(kMaxDeletions);
  return true;
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
      Shorten(plan);
      Begin("", std::move(plan));
      return true;
    }
  }
  for (auto& [name, pool] : pools_) {
    if (!pool.is_dirty || !is_due(pool.not_before)) continue;
    auto plan = PlanOf(name);
    if (!plan) {
      pool.is_dirty = pool.is_complete = false;
      continue;
    }
    if (!is_node_current_ && NeedsNode(name, *plan)) {
      ReadNode();
      return false;
    }
    pool.is_dirty = Shorten(*plan);
    pool.is_complete = plan->IsEmpty();
    if (pool.is_complete) continue;
    Begin(name, *std::move(plan));
    return true;
  }
  is_node_current_ = false;
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
    if (!is_due(known->second)) continue;
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
    return PlanSlices(name, wanted->devices, published, owner_.node_uid, min_generation_);
  }
  SlicePlan plan;
  std::ranges::transform(published, std::back_inserter(plan.deletions), DeletionOf);
  return plan;
}

/// Returns whether the plan writes the UID of the node, which may have been created again.
bool SlicePublisher::NeedsNode(const std::string& pool, const SlicePlan& plan) const {
  return !plan.creations.empty() ||
         std::ranges::any_of(store_.SlicesOf(pool), [this](const PublishedSlice& slice) {
           return slice.owner_uid != owner_.node_uid;
         });
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
  execution_ = Execution{.pool = std::move(pool), .plan = std::move(plan)};
}

void SlicePublisher::Abandon(const std::string& pool) {
  if (execution_ && execution_->pool == pool) execution_->is_abandoned = true;
}

/// Ends a plan that was not executed completely. The next one of its pool continues.
void SlicePublisher::DropExecution() {
  if (execution_) CurrentPool().is_dirty = true;
  execution_.reset();
  is_node_current_ = false;
}

/// Nothing is written while the pages of a list arrive. A list can be newer than the response to a
/// request that is pending, and then a write that was undone in between would count as present.
void SlicePublisher::OnPage(const ListedObjects& listed) {
  if (listed.is_first) {
    is_listed_ = false;
    must_relist_ = is_requesting_;
    has_deleted_ = false;
    held_events_.clear();
    held_bytes_ = 0;
    store_.BeginList();
  }
  for (const nlohmann::json& object : listed.objects) {
    if (auto slice = Read(object)) store_.Put(*std::move(slice));
  }
  if (!listed.is_last) return;
  store_.EndList(listed.is_cut);
  // The list may hide own slices, those of an earlier process with an unknown generation. A pool is
  // written at most once a second, so that is below the time in milliseconds. Known ones are
  // written again after each such list, which shows whether they are still there.
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  min_generation_ = store_.is_incomplete()
                        ? std::chrono::duration_cast<std::chrono::milliseconds>(now).count()
                        : 0;
  is_listed_ = true;
  is_probe_due_ = true;
  watch_error_.clear();
  for (auto& [name, pool] : pools_) pool.is_dirty = true;
  if (execution_) execution_->is_abandoned = true;
  Advance();
}

std::optional<PublishedSlice> SlicePublisher::Read(const nlohmann::json& object) {
  auto slice = store_.Read(object);
  if (slice) return *std::move(slice);
  deps_.log.Warning("a resource slice of this node is not valid",
                    {{"reason", slice.error().message}});
  return std::nullopt;
}

void SlicePublisher::OnWatching() {
  watch_error_.clear();
  NotifySoon();
}

/// Events wait for the response to a request, which may be about the same change.
void SlicePublisher::OnEvents(const std::vector<WatchEvent>& events) {
  if (must_relist_) return;
  for (const WatchEvent& event : events) {
    if (auto slice = Read(event.object)) {
      held_bytes_ += MemoryOf(slice->slice);
      held_events_.push_back({event.type, *std::move(slice)});
    }
  }
  if (!is_requesting_) return ApplyEvents();
  if (held_bytes_ <= kMaxHeldBytes) return;
  held_events_.clear();
  must_relist_ = true;
}

/// Another client changed slices of pools. Two clients that overwrite each other must not do so at
/// full speed. Deletions are no such dispute for a time: the kubelet deletes all slices one by one
/// when it starts.
void SlicePublisher::ApplyEvents() {
  held_bytes_ = 0;
  std::set<std::string> edited;
  std::set<std::string> deleted;
  for (SliceEvent& event : std::exchange(held_events_, {})) {
    const bool is_deletion = event.type == WatchEventType::kDeleted;
    (is_deletion ? deleted : edited).merge(store_.Apply(event.type, std::move(event.slice)));
  }
  if (edited.empty() && deleted.empty()) return;
  const Loop::Time now = deps_.loop.Now();
  for (auto& [name, pool] : pools_) {
    const bool is_deleted = deleted.contains(name);
    if (is_deleted) {
      if (now - pool.last_deletion > 2 * kMaxCorrection) pool.first_deletion = now;
      pool.last_deletion = now;
    }
    if (!is_deleted && !edited.contains(name)) continue;
    pool.is_dirty = true;
    const bool was_complete = std::exchange(pool.is_complete, false);
    const bool is_wipe = is_deleted && now - pool.first_deletion <= kWipeLimit;
    if (is_wipe && !edited.contains(name)) continue;
    OnDispute(pool);
    if (execution_ && execution_->pool == name) {
      execution_->is_disputed = true;
    } else if (was_complete) {
      CountCorrection(pool);
    }
  }
  Advance();
}

void SlicePublisher::OnDispute(Pool& pool) {
  const Loop::Time now = deps_.loop.Now();
  if (now - pool.last_foreign > 2 * kMaxCorrection) pool.corrections = 0;
  pool.last_foreign = now;
}

/// Others changed a pool that was complete, or while it was written. Each correction after the
/// first one waits for twice as long as the one before, from the end of that on.
void SlicePublisher::CountCorrection(Pool& pool) {
  if (pool.corrections++ == 0) return;
  Loop::Duration interval = kMinInterval;
  for (unsigned i = 2; i < pool.corrections && interval < kMaxCorrection; ++i) interval *= 2;
  pool.not_before += std::min<Loop::Duration>(interval, kMaxCorrection) - kMinInterval;
}

/// Logs an error once, until a request of its kind succeeds.
void SlicePublisher::LogError(const ApiError& error, std::string& last) {
  NotifySoon();
  if (std::exchange(last, error.message) == error.message) return;
  deps_.log.Warning("a request to the API server failed; retrying", {{"reason", error.message}});
}

void SlicePublisher::Relist() {
  is_listed_ = false;
  watch_.Relist();
}

}  // namespace patchbay
