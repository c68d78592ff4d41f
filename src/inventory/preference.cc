#include "inventory/preference.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace patchbay {
namespace {

/// No NUMA node is known: chosen after those that are.
constexpr int kNowhere = std::numeric_limits<int>::max();

struct IdOrder {
  bool operator()(const std::string& a, const std::string& b) const { return IdLess(a, b); }
};
using Ids = std::set<std::string, IdOrder>;

/// The units that are left to choose from, by what decides: a NUMA node, or a device.
template <class Key>
using Groups = std::map<Key, Ids>;

int NumaNodeOf(const Snapshot& snapshot, const std::string& id) {
  const FoundDevice found = FindAdvertised(snapshot, id);
  return found.listed == nullptr ? kNowhere : found.listed->device->numa_node.value_or(kNowhere);
}

/// The place of the physical device in the list. What is not in the list is a device each.
std::string DeviceOf(const Snapshot& snapshot, const std::string& id) {
  const FoundDevice found = FindAdvertised(snapshot, id);
  return found.listed == nullptr ? id : found.listed->device->id;
}

/// Takes whole NUMA nodes: those in use already, then the smallest that has all that is missing, or
/// else the largest. As a unit is on one node only, no other choice needs fewer.
std::vector<std::string> Packed(const Snapshot& snapshot, const Ids& chosen, const Ids& rest,
                                std::size_t missing) {
  Groups<int> nodes;
  std::set<int> in_use;
  for (const std::string& id : rest) nodes[NumaNodeOf(snapshot, id)].insert(id);
  for (const std::string& id : chosen) in_use.insert(NumaNodeOf(snapshot, id));
  const auto rank = [&](const auto& group) {
    const auto& [node, ids] = group;
    const bool enough = ids.size() >= missing;
    const auto size = static_cast<std::int64_t>(ids.size());
    return std::tuple(!in_use.contains(node), node == kNowhere, !enough, enough ? size : -size,
                      node);
  };
  std::vector<std::string> more;
  while (missing > 0 && !nodes.empty()) {
    const auto best =
        std::min_element(nodes.begin(), nodes.end(),
                         [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    for (const std::string& id : best->second) {
      if (missing == 0) break;
      more.push_back(id);
      --missing;
    }
    nodes.erase(best);
  }
  return more;
}

/// Takes one unit after the other, each of the device that the container has least of; among
/// these, of the one with the most units free, so that the load is shared.
std::vector<std::string> Spread(const Snapshot& snapshot, const Ids& chosen, const Ids& rest,
                                std::size_t missing) {
  Groups<std::string> free;
  std::map<std::string, std::int64_t> taken;
  for (const std::string& id : rest) free[DeviceOf(snapshot, id)].insert(id);
  for (const std::string& id : chosen) ++taken[DeviceOf(snapshot, id)];
  // (taken, -free, device): the best is the first.
  using Rank = std::tuple<std::int64_t, std::int64_t, std::string>;
  const auto less = [](const Rank& a, const Rank& b) {
    const auto& [taken_a, free_a, id_a] = a;
    const auto& [taken_b, free_b, id_b] = b;
    if (taken_a != taken_b) return taken_a < taken_b;
    if (free_a != free_b) return free_a < free_b;
    return IdLess(id_a, id_b);
  };
  std::set<Rank, decltype(less)> ranks(less);
  for (const auto& [device, ids] : free) {
    ranks.emplace(taken[device], -static_cast<std::int64_t>(ids.size()), device);
  }
  std::vector<std::string> more;
  for (; missing > 0 && !ranks.empty(); --missing) {
    const auto [count, units, device] = *ranks.begin();
    ranks.erase(ranks.begin());
    Ids& ids = free[device];
    more.push_back(*ids.begin());
    ids.erase(ids.begin());
    if (!ids.empty()) ranks.emplace(count + 1, units + 1, device);
  }
  return more;
}

}  // namespace

std::vector<std::string> Prefer(const Snapshot& snapshot, const PreferenceRequest& request) {
  const Preference preference = snapshot.spec->preferred_allocation;
  if (preference == Preference::kNone) return {};
  Ids rest(request.available.begin(), request.available.end());
  Ids chosen;
  for (const std::string& id : request.must_include) {
    if (chosen.size() < request.size && rest.erase(id) > 0) chosen.insert(id);
  }
  std::vector<std::string> preferred(chosen.begin(), chosen.end());
  const std::size_t missing = request.size - chosen.size();
  const auto more = preference == Preference::kPacked ? Packed(snapshot, chosen, rest, missing)
                                                      : Spread(snapshot, chosen, rest, missing);
  preferred.insert(preferred.end(), more.begin(), more.end());
  return preferred;
}

}  // namespace patchbay
