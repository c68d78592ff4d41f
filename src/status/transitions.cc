#include "status/transitions.h"

#include <algorithm>
#include <utility>

#include "health/probe_scheduler.h"
#include "model/snapshot_pairs.h"

namespace patchbay {
namespace {

using Pair = std::pair<const ListedDevice*, const ListedDevice*>;

/// Returns the health that is known of a device; nothing if it is not listed or not probed yet.
std::optional<Health> KnownHealth(const ListedDevice* listed) {
  if (listed == nullptr) return std::nullopt;
  const bool is_unprobed = listed->health == Health::kUnhealthy && listed->reason == kNotProbedYet;
  return is_unprobed ? std::nullopt : std::optional(listed->health);
}

}  // namespace

std::vector<Transition> TransitionsBetween(const Snapshot* before, const Snapshot& after,
                                           std::chrono::system_clock::time_point at) {
  static const std::vector<ListedDevice> kNothing;
  std::vector<Pair> changed;
  VisitPairs(before == nullptr ? kNothing : before->devices, after.devices,
             [&](const ListedDevice* old, const ListedDevice* now) {
               const auto from = KnownHealth(old), to = KnownHealth(now);
               if (from == to || (before == nullptr && to == Health::kHealthy)) return;
               changed.emplace_back(old, now);
             });
  // Only those that will be kept are copied: ten thousand devices can change at once.
  if (changed.size() > kMaxTransitions) {
    changed.erase(changed.begin(), changed.end() - std::ptrdiff_t{kMaxTransitions});
  }
  std::vector<Transition> transitions;
  transitions.reserve(changed.size());
  for (const auto& [old, now] : changed) {
    const bool has_own_reason = now != nullptr && now->health == Health::kUnhealthy;
    const ListedDevice* const unhealthy = has_own_reason ? now : old;
    transitions.push_back(
        {.at = at,
         .resource = after.spec->name,
         .device = (now != nullptr ? now : old)->device->id,
         .from = KnownHealth(old),
         .to = KnownHealth(now),
         .reason = unhealthy != nullptr && KnownHealth(unhealthy) ? unhealthy->reason : ""});
  }
  return transitions;
}

TransitionHistory Extended(const TransitionHistory& history, std::vector<Transition> latest) {
  TransitionHistory all;
  const std::size_t total = history.size() + latest.size();
  std::size_t surplus = total - std::min(total, kMaxTransitions);
  all.reserve(total - surplus);
  for (const auto& old : history) {
    if (surplus == 0) {
      all.push_back(old);
    } else {
      --surplus;
    }
  }
  for (Transition& transition : latest) {
    if (surplus == 0) {
      all.push_back(std::make_shared<const Transition>(std::move(transition)));
    } else {
      --surplus;
    }
  }
  return all;
}

}  // namespace patchbay
