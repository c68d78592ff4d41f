#include "inventory/preferred_allocation.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>

namespace patchbay {
namespace {

/// The NUMA node is unknown.
constexpr int kNowhere = std::numeric_limits<int>::max();

/// A unit that can be allocated.
struct PlacedUnit {
  std::int64_t device = 0;  ///< its index in the list
  std::int64_t replica = 0;
  std::int64_t numa_node = kNowhere;

  bool operator<(const PlacedUnit& other) const {
    return std::tie(device, replica) < std::tie(other.device, other.replica);
  }
};
using Units = std::vector<PlacedUnit>;
using Ids = std::set<std::string_view>;

/// Keys that group units near each other, the largest groups first.
using Level = std::int64_t PlacedUnit::*;
constexpr Level kLevels[] = {&PlacedUnit::numa_node, &PlacedUnit::device};

/// Returns the units of these IDs that can be allocated, in the order of the list. The kubelet's
/// list may be older than the snapshot.
Units FindUnits(const Snapshot& snapshot, const Ids& ids) {
  Units units;
  for (const std::string_view id : ids) {
    const FoundDevice found = FindAdvertised(snapshot, id);
    if (found.listed == nullptr || found.listed->health != Health::kHealthy) continue;
    units.push_back(
        {found.index, found.replica, found.listed->device->numa_node.value_or(kNowhere)});
  }
  std::sort(units.begin(), units.end());
  return units;
}

/// Takes whole groups: those already in use, then the smallest group that has all missing units, or
/// the largest. A unit is in one group only, so no other choice needs fewer groups. The last group
/// is divided the same way at the next level.
Units Packed(Units from, const Units& chosen, std::size_t size, std::span<const Level> levels) {
  if (levels.empty() || from.size() <= size) {
    from.resize(std::min(from.size(), size));
    return from;
  }
  const Level level = levels.front();
  std::map<std::int64_t, Units> groups;
  std::set<std::int64_t> in_use;
  for (const PlacedUnit& unit : from) groups[unit.*level].push_back(unit);
  for (const PlacedUnit& unit : chosen) in_use.insert(unit.*level);
  // (tier, units, group)
  std::set<std::tuple<int, std::size_t, std::int64_t>> ranks;
  for (const auto& [group, units] : groups) {
    const int tier = group == kNowhere ? 2 : in_use.contains(group) ? 0 : 1;
    ranks.emplace(tier, units.size(), group);
  }
  Units taken;
  while (taken.size() < size) {  // there are more units than that
    const std::size_t missing = size - taken.size();
    const int tier = std::get<0>(*ranks.begin());
    auto best = ranks.lower_bound({tier, missing, 0});
    if (best == ranks.end() || std::get<0>(*best) != tier) {
      best = ranks.lower_bound({tier, std::get<1>(*std::prev(best)), 0});
    }
    const Units more =
        Packed(std::move(groups[std::get<2>(*best)]), chosen, missing, levels.subspan(1));
    taken.insert(taken.end(), more.begin(), more.end());
    ranks.erase(best);
  }
  return taken;
}

/// Takes one unit after the other, each from the device that the container has least of; among
/// these from the device with the most free units, to balance the load.
Units Spread(const Units& from, const Units& chosen, std::size_t size) {
  struct Use {
    std::int64_t taken = 0;
    std::int64_t free = 0;
  };
  std::map<std::int64_t, Use> devices;
  for (const PlacedUnit& unit : chosen) ++devices[unit.device].taken;
  for (const PlacedUnit& unit : from) ++devices[unit.device].free;
  // Each further unit of a device ranks lower, so all units can be ranked in advance.
  std::vector<std::tuple<std::int64_t, std::int64_t, PlacedUnit>> ranks;
  for (const PlacedUnit& unit : from) {
    Use& use = devices[unit.device];
    ranks.emplace_back(use.taken++, -use.free--, unit);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.resize(std::min(ranks.size(), size));
  Units taken;
  for (const auto& rank : ranks) taken.push_back(std::get<PlacedUnit>(rank));
  return taken;
}

}  // namespace

std::vector<std::string> ChoosePreferred(const Snapshot& snapshot,
                                         const PreferenceRequest& request) {
  const ResourceSpec& spec = *snapshot.spec;
  if (spec.preferred_allocation == Preference::kNone) return {};
  Ids rest(request.available.begin(), request.available.end());
  Ids chosen;
  for (const std::string_view id : Ids(request.must_include.begin(), request.must_include.end())) {
    if (chosen.size() < request.size && rest.erase(id) > 0) chosen.insert(id);
  }
  const std::size_t missing = request.size - chosen.size();
  const Units in_use = FindUnits(snapshot, chosen), free = FindUnits(snapshot, rest);
  const Units more = spec.preferred_allocation == Preference::kPacked
                         ? Packed(free, in_use, missing, kLevels)
                         : Spread(free, in_use, missing);
  std::vector<std::string> preferred(chosen.begin(), chosen.end());
  for (const PlacedUnit& unit : more) {
    const std::string& device = snapshot.devices[static_cast<std::size_t>(unit.device)].device->id;
    preferred.push_back(AdvertisedId(spec, device, static_cast<int>(unit.replica)));
  }
  return preferred;
}

}  // namespace patchbay
