#include "hooks/release_tracker.h"

#include <algorithm>

namespace patchbay {
namespace {

bool HaveOneInCommon(const std::set<Holder>& a, const std::set<Holder>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Holder& holder) { return b.contains(holder); });
}

}  // namespace

ReleaseTracker::Verdict ReleaseTracker::Update(const HoldersReport& report) {
  Verdict verdict;
  if (report.kubelet != kubelet_) held_.clear();
  kubelet_ = report.kubelet;
  if (!report.complete) {
    for (const auto& [device, holders] : report.holders) {
      held_[device].insert(holders.begin(), holders.end());
    }
    return verdict;
  }
  for (const auto& [device, before] : held_) {
    const auto now = report.holders.find(device);
    if (now != report.holders.end() && HaveOneInCommon(before, now->second)) continue;
    (unverified_.contains(device) ? verdict.missed : verdict.released).push_back(device);
  }
  held_ = report.holders;
  unverified_.clear();
  return verdict;
}

}  // namespace patchbay
