// A plan has two parts. The layout assigns each device to a slice: where it is published now, or to
// a slice with room, or to a new one. If most slices are nearly empty, all devices are laid out
// again. The generation then decides which slices are written.
//
// The scheduler uses only the slices of the highest generation of a pool, and ignores the pool
// until there are as many of them as they declare (resourceSliceCount). With a new generation, the
// first write makes the pool incomplete, and the last one completes it; so no order of writes shows
// two states mixed. Keeping the generation is safe in two cases: a single slice is replaced in
// place, or the pool is incomplete already and all slices of its generation are right, as after an
// abandoned plan or after someone deleted a slice.
//
// A foreign slice can outlive its deletion, by a finalizer. So the generation rises above it.

#include "dra/slice_plan.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/number.h"

namespace patchbay {
namespace {

/// Far above what one write per nanosecond reaches. Higher generations are someone else's: the pool
/// is published again from 1, because it could not rise.
constexpr std::int64_t kMaxGeneration = std::int64_t{1} << 62;

/// A slice of the target.
struct TargetSlice {
  const PublishedSlice* current = nullptr;  ///< null for a new one
  std::vector<std::size_t> members = {};    ///< indexes of the devices

  bool HasRoom() const { return members.size() < kMaxDevicesPerSlice; }
};

/// Returns the number at the start of the name of a slice; nothing for a name of another form.
std::optional<std::size_t> IndexOfName(std::string_view name) {
  const auto dash = name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  return ParseNumber<std::size_t>(name.substr(0, dash), 16);
}

class Planner {
 public:
  Planner(const std::string& pool, std::span<const SliceDevice> devices,
          std::span<const PublishedSlice> published, std::string_view owner_uid);
  SlicePlan Plan(std::int64_t min_generation);

 private:
  void LayOut();
  void KeepPlaces();
  void PlaceOthers();
  void DropEmptySlices();

  std::vector<SliceDevice> DevicesOf(const TargetSlice& target) const;
  bool IsChanged(const TargetSlice& target) const;
  bool IsOfTarget(const TargetSlice& target) const;
  bool CanKeepGeneration() const;

  const std::string& pool_;
  const std::span<const SliceDevice> devices_;
  const std::string_view owner_uid_;
  std::vector<const PublishedSlice*> published_;  ///< of the pool, the newest generation first
  std::int64_t generation_ = 0;                   ///< the highest published one
  bool has_foreign_newest_ = false;               ///< a foreign slice has that generation
  /// Devices by name, as published with the highest generation.
  std::map<std::string_view, const SliceDevice*> published_devices_;
  std::vector<bool> is_placed_;
  std::vector<TargetSlice> targets_;
  SlicePlan plan_;
};

Planner::Planner(const std::string& pool, std::span<const SliceDevice> devices,
                 std::span<const PublishedSlice> published, std::string_view owner_uid)
    : pool_(pool), devices_(devices), owner_uid_(owner_uid), is_placed_(devices.size()) {
  std::int64_t foreign_generation = 0;
  for (const PublishedSlice& slice : published) {
    if (slice.slice.pool != pool) continue;
    if (slice.is_foreign) {
      plan_.deletions.push_back(DeletionOf(slice));
      if (slice.slice.generation <= kMaxGeneration) {
        foreign_generation = std::max(foreign_generation, slice.slice.generation);
      }
    } else if (slice.slice.generation > kMaxGeneration) {
      plan_.deletions.push_back(slice.key);
    } else {
      published_.push_back(&slice);
    }
  }
  std::ranges::sort(published_, [](const PublishedSlice* a, const PublishedSlice* b) {
    if (a->slice.generation != b->slice.generation) {
      return a->slice.generation > b->slice.generation;
    }
    return a->key.name < b->key.name;
  });
  if (!published_.empty()) generation_ = published_.front()->slice.generation;
  has_foreign_newest_ = foreign_generation > 0 && foreign_generation >= generation_;
  generation_ = std::max(generation_, foreign_generation);
  for (const PublishedSlice* slice : published_) {
    for (const SliceDevice& device : slice->slice.devices) {
      published_devices_.emplace(device.name, &device);
    }
  }
}

/// Puts devices into the slices that have them.
void Planner::KeepPlaces() {
  std::map<std::string_view, std::size_t> indexes;
  for (std::size_t i = 0; i < devices_.size(); ++i) indexes.emplace(devices_[i].name, i);
  for (TargetSlice& target : targets_) {
    for (const SliceDevice& device : target.current->slice.devices) {
      const auto index = indexes.find(device.name);
      if (index == indexes.end() || !target.HasRoom()) continue;
      target.members.push_back(index->second);
      is_placed_[index->second] = true;
      indexes.erase(index);
    }
  }
}

/// Returns whether a slice is written even if its devices stay as they are.
bool Planner::IsChanged(const TargetSlice& target) const {
  if (target.current == nullptr || target.current->slice.generation != generation_) return true;
  if (target.current->owner_uid != owner_uid_) return true;
  const auto& old = target.current->slice.devices;
  return !std::ranges::equal(old, target.members, [&](const SliceDevice& device, std::size_t i) {
    return device == devices_[i];
  });
}

void Planner::PlaceOthers() {
  // Slices that are written anyway come first.
  std::vector<TargetSlice*> with_room;
  with_room.reserve(targets_.size());
  for (TargetSlice& target : targets_) {
    if (target.HasRoom()) with_room.push_back(&target);
  }
  std::stable_partition(with_room.begin(), with_room.end(),
                        [&](const TargetSlice* target) { return IsChanged(*target); });
  auto next = with_room.begin();
  std::vector<TargetSlice> added;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (is_placed_[i]) continue;
    while (next != with_room.end() && !(*next)->HasRoom()) ++next;
    if (next != with_room.end()) {
      (*next)->members.push_back(i);
    } else {
      if (added.empty() || !added.back().HasRoom()) added.emplace_back();
      added.back().members.push_back(i);
    }
  }
  for (TargetSlice& target : targets_) std::ranges::sort(target.members);
  std::ranges::move(added, std::back_inserter(targets_));
}

void Planner::DropEmptySlices() {
  const auto is_empty = [](const TargetSlice& target) { return target.members.empty(); };
  if (devices_.empty()) {
    // One empty slice shows that the driver is there and has no devices.
    targets_.resize(1);
  } else {
    std::erase_if(targets_, is_empty);
  }
  std::set<const PublishedSlice*> kept;
  for (const TargetSlice& target : targets_) kept.insert(target.current);
  for (const PublishedSlice* slice : published_) {
    if (!kept.contains(slice)) plan_.deletions.push_back(slice->key);
  }
}

void Planner::LayOut() {
  targets_.reserve(published_.size());
  for (const PublishedSlice* slice : published_) targets_.push_back({slice});
  KeepPlaces();
  const auto used = std::ranges::count_if(
      targets_, [](const TargetSlice& target) { return !target.members.empty(); });
  if (static_cast<std::size_t>(used) > 2 * SlicesFor(devices_.size())) {
    for (TargetSlice& target : targets_) target.members.clear();
    is_placed_.assign(devices_.size(), false);
  }
  PlaceOthers();
  DropEmptySlices();
}

/// Returns the devices. A taint that stays keeps its time, from which tolerationSeconds count.
std::vector<SliceDevice> Planner::DevicesOf(const TargetSlice& target) const {
  std::vector<SliceDevice> devices;
  devices.reserve(target.members.size());
  for (const std::size_t i : target.members) {
    SliceDevice& device = devices.emplace_back(devices_[i]);
    const auto old = published_devices_.find(device.name);
    if (old == published_devices_.end()) continue;
    for (DeviceTaint& taint : device.taints) {
      const auto same = std::ranges::find(old->second->taints, taint);
      if (same != old->second->taints.end()) taint.time_added = same->time_added;
    }
  }
  return devices;
}

/// Returns whether the published slice is already as it shall be.
bool Planner::IsOfTarget(const TargetSlice& target) const {
  return !IsChanged(target) &&
         target.current->slice.slice_count == static_cast<std::int64_t>(targets_.size());
}

/// Returns whether the slices of the newest generation stay and have the right count, and the
/// scheduler ignores the pool until the last write, or sees a single one.
bool Planner::CanKeepGeneration() const {
  const auto count = static_cast<std::int64_t>(targets_.size());
  const auto newest = std::ranges::count_if(published_, [&](const PublishedSlice* slice) {
    return slice->slice.generation == generation_;
  });
  const auto newest_kept = std::ranges::count_if(targets_, [&](const TargetSlice& target) {
    return target.current != nullptr && target.current->slice.generation == generation_ &&
           target.current->slice.slice_count == count;
  });
  if (newest_kept != newest) return false;
  if (newest < count) return true;
  return std::ranges::count_if(targets_,
                               [&](const TargetSlice& target) { return IsOfTarget(target); }) +
             1 ==
         count;
}

SlicePlan Planner::Plan(std::int64_t min_generation) {
  LayOut();
  const bool must_rise = has_foreign_newest_ || generation_ < min_generation;
  const bool is_right = !must_rise && std::ranges::all_of(targets_, [&](const TargetSlice& target) {
    return IsOfTarget(target);
  });
  if (is_right) return std::move(plan_);  // deletions of older generations at most
  const bool keeps = generation_ > 0 && !must_rise && CanKeepGeneration();
  const std::int64_t generation = keeps ? generation_ : std::max(generation_ + 1, min_generation);
  std::set<std::size_t> used;
  for (const TargetSlice& target : targets_) {
    if (target.current == nullptr) continue;
    if (const auto index = IndexOfName(target.current->key.name)) used.insert(*index);
  }
  std::size_t index = 0;
  for (const TargetSlice& target : targets_) {
    if (keeps && IsOfTarget(target)) continue;
    ResourceSlice slice{.pool = pool_,
                        .generation = generation,
                        .slice_count = static_cast<std::int64_t>(targets_.size()),
                        .devices = DevicesOf(target)};
    if (target.current != nullptr) {
      plan_.updates.push_back({target.current->key, std::move(slice)});
      continue;
    }
    while (used.contains(index)) ++index;
    plan_.creations.push_back({index++, std::move(slice)});
  }
  return std::move(plan_);
}

}  // namespace

SliceKey DeletionOf(const PublishedSlice& slice) {
  return {slice.key.name, slice.key.uid, slice.is_foreign ? "" : slice.key.resource_version};
}

SlicePlan PlanSlices(const std::string& pool, std::span<const SliceDevice> devices,
                     std::span<const PublishedSlice> published, std::string_view owner_uid,
                     std::int64_t min_generation) {
  return Planner(pool, devices, published, owner_uid).Plan(min_generation);
}

}  // namespace patchbay
