#include "inventory/releases.h"

#include <algorithm>

namespace patchbay {
namespace {

bool HaveOneInCommon(const std::set<Holder>& a, const std::set<Holder>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Holder& holder) { return b.contains(holder); });
}

}  // namespace

Releases::Verdict Releases::Take(const HoldersReport& report) {
  Verdict verdict;
  if (report.kubelet != kubelet_) held_.clear();
  kubelet_ = report.kubelet;
  for (auto& [device, before] : held_) {
    const auto found = report.holders.find(device);
    if (found == report.holders.end() ? !report.complete : HaveOneInCommon(before, found->second)) {
      continue;
    }
    const bool started = found != report.holders.end() && blind_.contains(device);
    (started ? verdict.missed : verdict.released).push_back(device);
  }
  if (report.complete) held_.clear();
  for (const auto& [device, holders] : report.holders) held_[device] = holders;
  blind_.clear();
  return verdict;
}

}  // namespace patchbay
