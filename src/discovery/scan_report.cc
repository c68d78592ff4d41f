#include "discovery/scan_report.h"

#include <algorithm>

#include "base/path.h"

namespace patchbay {
namespace {

bool IsNamedBy(const Glob::Components& pattern, const std::vector<std::string_view>& path) {
  return path.size() <= pattern.size() &&
         std::equal(path.begin(), path.end(), pattern.begin(),
                    [](std::string_view name, const Glob::Component& component) {
                      return component.literal() && component.name.text() == name;
                    });
}

}  // namespace

std::string_view Name(DropReason reason) {
  switch (reason) {
    case DropReason::kExcluded: return "excluded";
    case DropReason::kWrongType: return "wrong_type";
    case DropReason::kOtherKind: return "other_kind";
    case DropReason::kCondition: return "condition";
    case DropReason::kMissing: return "missing";
    case DropReason::kFoundBefore: return "found_before";
    case DropReason::kUnknown: return "unknown_to_sysfs";
    case DropReason::kNoMatch: return "no_match";
    case DropReason::kNotFound: return "not_found";
  }
  return "";
}

void ScanReport::BeginMatch(const MatchSpec& match, std::size_t index) {
  match_ = &match;
  index_ = index;
  problems_.clear();
  if (request_.report && reports_.size() <= index) reports_.resize(index + 1);
}

void ScanReport::AddPlace(MatchReport::ScannedPlace place) {
  if (!request_.report || muted_) return;
  if (!place.problem.empty() && !problems_.insert(place.problem).second) return;
  MatchReport& report = reports_[index_];
  if (report.scanned.size() < MatchReport::kMaxEntries) {
    report.scanned.push_back(std::move(place));
  } else {
    ++report.left_out;
  }
}

void ScanReport::Drop(MatchReport::Drop drop, std::size_t match) {
  if (!request_.report) return;
  if (drop.reason == DropReason::kMissing && !Names(drop.paths.front())) return;
  MatchReport& report = reports_[match];
  if (report.drops.size() < MatchReport::kMaxEntries || IsWanted(drop)) {
    report.drops.push_back(std::move(drop));
  } else {
    ++report.left_out;
  }
}

void ScanReport::Drop(const std::string& path, DropReason reason, std::string detail) {
  if (request_.report) Drop({{"", {path}, ""}, reason, std::move(detail)});
}

void ScanReport::AddNotCompared(const std::string& path, const std::string& why) {
  if (!request_.report || why.empty() || path.empty()) return;
  auto& devices = reports_[index_].not_compared;
  if (devices.size() < MatchReport::kMaxEntries) devices.emplace(path, why);
}

void ScanReport::Reject(MatchReport::Rejected rejected, std::size_t match, bool beyond_bound) {
  if (!request_.report) return;
  if (!beyond_bound || IsWanted(rejected)) {
    reports_[match].rejected.push_back(std::move(rejected));
  } else {
    ++reports_[match].left_out;
  }
}

bool ScanReport::Names(const std::string& path) const {
  const auto* source = std::get_if<PathSource>(&match_->source);
  if (source == nullptr) return true;
  const auto parts = SplitPath(path);
  return std::any_of(source->globs.begin(), source->globs.end(), [&](const Glob& glob) {
    const auto& alternatives = glob.alternatives();
    return std::any_of(alternatives.begin(), alternatives.end(),
                       [&](const auto& pattern) { return IsNamedBy(pattern, parts); });
  });
}

bool ScanReport::IsWanted(const MatchReport::Item& item) const {
  return std::ranges::any_of(request_.wanted, [&](const std::string& name) {
    return item.id == name || item.syspath == name ||
           std::ranges::find(item.paths, name) != item.paths.end();
  });
}

}  // namespace patchbay
