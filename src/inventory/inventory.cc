// MergeScan compares a scan with the devices of the previous one by ID. A device that was not found
// stays listed as Unhealthy until `forget_after` has passed, and longer while a pod uses it or
// while the place where it was could not be read.

#include "inventory/inventory.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/escape.h"
#include "base/format.h"
#include "inventory/allocation.h"
#include "model/object_name.h"

namespace patchbay {
namespace {

/// Returns true if the device is where this scan could not read: it may still exist.
bool IsOutOfSight(const ResourceSpec& spec, const Device& device,
                  const std::vector<Rejection>& rejected) {
  return std::any_of(rejected.begin(), rejected.end(), [&](const Rejection& rejection) {
    if (rejection.reason != RejectReason::kUnreadable) return false;
    // Without a readable directory, any device may still exist.
    if (UsesSysfs(spec) && rejection.path.starts_with("/sys")) return true;
    std::string_view unread = rejection.path;
    while (unread.ends_with('/')) unread.remove_suffix(1);
    return std::any_of(device.nodes.begin(), device.nodes.end(), [&](const DeviceNode& node) {
      return node.path.starts_with(unread) &&
             (node.path.size() == unread.size() || node.path[unread.size()] == '/');
    });
  });
}

/// Returns why a device was not found; its nodes may still exist.
std::string VanishedReason(const Device& device,
                           const std::map<std::string_view, std::string_view>& rejected) {
  if (device.nodes.empty()) return "no longer found";
  for (const DeviceNode& node : device.nodes) {
    if (const auto why = rejected.find(node.path); why != rejected.end()) {
      return std::string(why->second);
    }
  }
  return Format("{} no longer exists", device.nodes.front().path);
}

}  // namespace

void Inventory::SetSpec(std::shared_ptr<const ResourceSpec> spec, bool finds_others) {
  next_spec_ = std::move(spec);
  finds_others_ = finds_others_ || finds_others;
}

void Inventory::SetHeld(std::set<std::string> ids) {
  has_new_ranks_ = has_new_ranks_ || held_ != ids;
  held_ = std::move(ids);
  are_claimed_ = false;
}

bool Inventory::SetClaimed(std::set<std::string> ids, Time now) {
  SetHeld(std::move(ids));
  are_claimed_ = true;
  return snapshot_ != nullptr && ListNeverFound(now);
}

/// Returns the place in the list where the device is or would be.
std::vector<Inventory::Tracked>::iterator Inventory::PlaceOf(const std::string& id) {
  return std::lower_bound(
      tracked_.begin(), tracked_.end(), id,
      [](const Tracked& t, const std::string& wanted) { return IdLess(t.device->id, wanted); });
}

/// Adds claimed devices that no scan has found, and drops those that are not claimed any more.
bool Inventory::ListNeverFound(Time now) {
  std::size_t changes = std::erase_if(tracked_, [&](const Tracked& tracked) {
    return tracked.never_found() && (!are_claimed_ || !held_.contains(tracked.device->id));
  });
  if (!are_claimed_) return changes > 0;
  for (const std::string& id : held_) {
    const auto place = PlaceOf(id);
    const bool is_known = place != tracked_.end() && place->device->id == id;
    if (is_known || id.size() > kMaxLabel || !IsPrintable(id)) continue;
    Problem problem{
        .reason = is_complete_ ? "not found since Patchbay started; it was removed, or the "
                                 "configuration no longer matches it"
                               : "not found since Patchbay started; not all places could be read",
        .never_found = true};
    if (is_complete_) {
      problem.vanished_at = now;
      problem.vanished_as = ++last_vanished_;
    }
    tracked_.insert(place, {std::make_shared<const Device>(Device{.id = id, .nodes = {}}),
                            std::make_unique<Problem>(std::move(problem))});
    ++changes;
  }
  return changes > 0;
}

std::size_t Inventory::MergeScan(Discovery discovery, Time now) {
  const bool is_respecified = next_spec_ != nullptr;
  if (is_respecified) spec_ = std::exchange(next_spec_, nullptr);
  const bool finds_others = std::exchange(finds_others_, false);
  rejected_ = std::move(discovery.rejected);
  missing_mounts_ = std::move(discovery.missing_mounts);
  notes_ = std::move(discovery.notes);
  unused_excludes_ = std::move(discovery.unused_excludes);
  is_complete_ = discovery.complete;
  max_present_ = std::max(max_present_, discovery.devices.size());
  // ListNeverFound adds those that are still not found.
  std::erase_if(tracked_, [](const Tracked& tracked) { return tracked.never_found(); });
  std::vector<Tracked> next;
  // Usually at most one device has disappeared, and it stays in the list.
  next.reserve(std::max(discovery.devices.size(), tracked_.size() + 1));
  std::vector<Rejection> problems;
  std::map<std::string_view, std::string_view> reasons;  // by the path that was rejected
  for (const Rejection& rejection : rejected_) reasons.emplace(rejection.path, rejection.detail);
  const auto keep_vanished = [&](Tracked& old, const std::string& why = "") {
    const bool may_exist =
        why.empty() && (discovery.is_cut || IsOutOfSight(*spec_, *old.device, rejected_));
    if (!old.is_missing() && !may_exist) {
      if (old.problem == nullptr) old.problem = std::make_unique<Problem>();
      old.problem->vanished_at = now;
      old.problem->vanished_as = ++last_vanished_;
      old.problem->removed_by_config = finds_others || (is_respecified && !why.empty());
    }
    if (old.is_missing()) {
      old.problem->reason = !why.empty() ? why
                            : old.problem->removed_by_config
                                ? "no longer matched by the configuration"
                                : VanishedReason(*old.device, reasons);
    }
    next.push_back(std::move(old));
  };

  AllocationTrial trial(*spec_, node_name_);
  auto old = tracked_.begin();
  for (const auto& found : discovery.devices.shared()) {
    const Device& device = *found;
    while (old != tracked_.end() && IdLess(old->device->id, device.id)) keep_vanished(*old++);
    const bool known = old != tracked_.end() && old->device->id == device.id;
    const bool same = known && (old->device == found || *old->device == device);
    // A listed device that is missing can be one that an earlier trial rejected.
    const bool is_accepted = same && !is_respecified && !old->is_missing();
    auto problem = is_accepted ? std::nullopt : trial.ProblemWith(device);
    if (problem) {
      if (known) keep_vanished(*old, problem->detail);
      problems.push_back(std::move(*problem));
    } else {
      const auto unusable = discovery.unusable.find(device.id);
      next.push_back({same ? old->device : found});
      if (unusable != discovery.unusable.end()) {
        next.back().problem = std::make_unique<Problem>(Problem{std::move(unusable->second)});
      }
    }
    if (known) ++old;
  }
  for (; old != tracked_.end(); ++old) keep_vanished(*old);
  tracked_ = std::move(next);
  std::move(problems.begin(), problems.end(), std::back_inserter(rejected_));
  ListNeverFound(now);
  Expire(now);
  return DropOldest();
}

void Inventory::Expire(Time now) {
  std::erase_if(tracked_, [&](const Tracked& tracked) {
    return IsForgettable(tracked) && now >= ExpiryOf(tracked);
  });
}

/// Limits the number of missing devices, and with it memory and the device list.
std::size_t Inventory::DropOldest() {
  std::vector<std::uint32_t> vanished;
  for (const Tracked& tracked : tracked_) {
    if (IsForgettable(tracked)) vanished.push_back(tracked.problem->vanished_as);
  }
  const std::size_t most = std::max(kMaxVanished, max_present_);
  if (vanished.size() <= most) return 0;
  const std::size_t dropped = vanished.size() - most;
  const auto oldest_kept = vanished.begin() + static_cast<std::ptrdiff_t>(dropped);
  std::nth_element(vanished.begin(), oldest_kept, vanished.end());
  std::erase_if(tracked_, [&](const Tracked& tracked) {
    return IsForgettable(tracked) && tracked.problem->vanished_as < *oldest_kept;
  });
  return dropped;
}

Inventory::Time Inventory::ExpiryOf(const Tracked& tracked) const {
  return *tracked.problem->vanished_at +
         (tracked.problem->removed_by_config ? Time::duration::zero() : spec_->forget_after);
}

std::optional<Inventory::Time> Inventory::NextExpiry() const {
  std::optional<Time> next;
  for (const Tracked& tracked : tracked_) {
    if (!IsForgettable(tracked)) continue;
    const Time expiry = ExpiryOf(tracked);
    if (!next || expiry < *next) next = expiry;
  }
  return next;
}

std::vector<ProbeScheduler::Presence> Inventory::Known() const {
  std::vector<ProbeScheduler::Presence> known;
  known.reserve(tracked_.size());
  for (const Tracked& tracked : tracked_) {
    // A probe of an interface would look for it on the host.
    known.push_back({tracked.device,
                     !tracked.is_missing() && !tracked.never_found() && !IsAway(*tracked.device)});
  }
  return known;
}

ListedDevice Inventory::Listed(const Tracked& tracked, const HealthLookup& health_of) const {
  constexpr std::uint32_t kUnhealthyRank = 1;
  if (const Problem* problem = tracked.problem.get()) {
    const std::uint32_t rank =
        IsForgettable(tracked) ? std::numeric_limits<std::uint32_t>::max() - problem->vanished_as
                               : kUnhealthyRank;
    return {tracked.device, Health::kUnhealthy,   problem->reason,
            rank,           tracked.is_missing(), tracked.never_found()};
  }
  // A probe that failed while the interface moved would never run again.
  if (!health_of || IsAway(*tracked.device)) return {tracked.device, Health::kHealthy, ""};
  ProbeScheduler::DeviceHealth health = health_of(tracked.device->id);
  return {tracked.device, health.health, std::move(health.reason),
          health.health == Health::kHealthy ? 0 : kUnhealthyRank};
}

void Inventory::PublishHealth(const std::set<std::string>& changed, const HealthLookup& health_of) {
  if (snapshot_ == nullptr || has_new_ranks_) return Publish(health_of);
  std::vector<std::pair<std::size_t, ListedDevice>> updates;  // with their places in both lists
  for (const std::string& id : changed) {
    const auto at = PlaceOf(id);
    if (at == tracked_.end() || at->device->id != id) continue;
    const auto place = static_cast<std::size_t>(at - tracked_.begin());
    ListedDevice listed = Listed(*at, health_of);
    if (listed != snapshot_->devices[place]) updates.emplace_back(place, std::move(listed));
  }
  if (updates.empty()) return;
  Snapshot snapshot = *snapshot_;
  ++snapshot.generation;
  for (auto& [place, listed] : updates) snapshot.devices[place] = std::move(listed);
  snapshot_ = std::make_shared<const Snapshot>(std::move(snapshot));
}

void Inventory::Publish(const HealthLookup& health_of) {
  has_new_ranks_ = false;
  Snapshot snapshot{.spec = spec_,
                    .generation = snapshot_ ? snapshot_->generation + 1 : 1,
                    .devices = {},
                    .rejected = rejected_,
                    .missing_mounts = missing_mounts_,
                    .notes = notes_,
                    .unused_excludes = unused_excludes_};
  snapshot.devices.reserve(tracked_.size());
  for (const Tracked& tracked : tracked_) snapshot.devices.push_back(Listed(tracked, health_of));
  snapshot.topology =
      spec_->topology &&
      std::all_of(snapshot.devices.begin(), snapshot.devices.end(),
                  [](const ListedDevice& listed) { return listed.device->numa_node.has_value(); });
  if (snapshot_ && snapshot_->spec == spec_ && snapshot_->devices == snapshot.devices &&
      snapshot_->rejected == snapshot.rejected &&
      snapshot_->missing_mounts == snapshot.missing_mounts && snapshot_->notes == snapshot.notes &&
      snapshot_->unused_excludes == snapshot.unused_excludes) {
    return;
  }
  snapshot_ = std::make_shared<const Snapshot>(std::move(snapshot));
}

}  // namespace patchbay
