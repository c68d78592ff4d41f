#include "hooks/release_tracker.h"

#include <algorithm>

namespace patchbay {
namespace {

bool HaveOneInCommon(const std::set<Holder>& a, const std::set<Holder>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Holder& holder) { return b.contains(holder); });
}

}  // namespace

ReleaseTracker::Decision ReleaseTracker::Update(const HoldersReport& report) {
  Decision decision;
  if (report.kubelet != kubelet_) held_.clear();
  kubelet_ = report.kubelet;
  if (!report.complete) {
    for (const auto& [device, holders] : report.holders) {
      held_[device].insert(holders.begin(), holders.end());
    }
    return decision;
  }
  for (const auto& [device, before] : held_) {
    const auto now = report.holders.find(device);
    if (now != report.holders.end() && HaveOneInCommon(before, now->second)) continue;
    (unverified_.contains(device) ? decision.missed : decision.released).push_back(device);
  }
  held_ = report.holders;
  unverified_.clear();
  return decision;
}

}  // namespace patchbay
