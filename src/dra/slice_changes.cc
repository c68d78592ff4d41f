// The part of SlicePublisher that follows the slices at the API server: the pages of lists and the
// events of the watch.

#include <algorithm>
#include <utility>

#include "dra/slice_publisher.h"

namespace patchbay {

/// Nothing is written while the pages of a list arrive. A list can be newer than the response to a
/// request that is pending, and then a write that was undone in between would count as present.
void SlicePublisher::OnPage(const ListedObjects& listed) {
  if (listed.is_first) {
    is_listed_ = false;
    must_relist_ = is_requesting_;
    has_deleted_ = false;
    held_events_.clear();
    held_bytes_ = 0;
    store_.Clear();
  }
  for (const Error& error : store_.Add(listed.objects)) {
    deps_.log.Warning("a resource slice of this node is not valid", {{"reason", error.message}});
  }
  if (!listed.is_last) return;
  if (listed.is_cut) store_.SetIncomplete();
  is_listed_ = true;
  is_probe_due_ = true;
  watch_error_.clear();
  for (auto& [name, pool] : pools_) pool.is_dirty = true;
  if (execution_) execution_->is_abandoned = true;
  Advance();
}

void SlicePublisher::OnWatching() {
  watch_error_.clear();
  NotifySoon();
}

/// Events wait for the response to a request, which may be about the same change.
void SlicePublisher::OnEvents(const std::vector<WatchEvent>& events) {
  if (must_relist_) return;
  for (const WatchEvent& event : events) {
    auto slice = store_.Read(event.object);
    if (!slice) {
      deps_.log.Warning("a resource slice of this node is not valid",
                        {{"reason", slice.error().message}});
    } else if (*slice) {
      held_bytes_ += MemoryOf((*slice)->slice);
      held_events_.push_back({event.type, **std::move(slice)});
    }
  }
  if (!is_requesting_) return ApplyEvents();
  if (held_bytes_ <= kMaxHeldBytes) return;
  held_events_.clear();
  must_relist_ = true;
}

void SlicePublisher::ApplyEvents() {
  held_bytes_ = 0;
  std::set<std::string> edited;
  std::set<std::string> deleted;
  for (SliceEvent& event : std::exchange(held_events_, {})) {
    const bool is_deletion = event.type == WatchEventType::kDeleted;
    (is_deletion ? deleted : edited).merge(store_.Apply(event.type, std::move(event.slice)));
  }
  if (!edited.empty() || !deleted.empty()) OnForeignChange(edited, deleted);
}

/// Another client changed slices of pools. Two clients that overwrite each other must not do so at
/// full speed. Deletions are no such dispute for a time: the kubelet deletes all slices one by one
/// when it starts.
void SlicePublisher::OnForeignChange(const std::set<std::string>& edited,
                                     const std::set<std::string>& deleted) {
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
    if (now - pool.last_foreign > 2 * kMaxCorrection) pool.corrections = 0;
    pool.last_foreign = now;
    if (execution_ && execution_->pool == name) {
      execution_->is_disputed = true;
    } else if (was_complete) {
      CountCorrection(pool);
    }
  }
  Advance();
}

void SlicePublisher::Relist() {
  is_listed_ = false;
  watch_.Relist();
}

}  // namespace patchbay
