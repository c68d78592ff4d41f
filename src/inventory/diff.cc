#include "inventory/diff.h"

#include <algorithm>

#include "base/format.h"
#include "health/timetable.h"

namespace patchbay {
namespace {

using Kind = Change::Kind;

void Compare(const ListedDevice& before, const ListedDevice& after, std::vector<Change>& changes) {
  const bool first_verdict = before.reason == kNotProbedYet && after.reason != before.reason;
  if (before.health == after.health && !first_verdict) return;
  changes.push_back({after.health == Health::kHealthy ? Kind::kHealthy : Kind::kUnhealthy,
                     after.device->id, after.reason});
}

}  // namespace

std::vector<Change> Diff(const Snapshot* before, const Snapshot& after) {
  static const Snapshot kNothing;
  if (before == nullptr) before = &kNothing;
  std::vector<Change> changes;
  auto old = before->devices.begin();
  const auto end = before->devices.end();
  for (const ListedDevice& listed : after.devices) {
    const std::string& id = listed.device->id;
    for (; old != end && IdLess(old->device->id, id); ++old) {
      changes.push_back({Kind::kForgotten, old->device->id, ""});
    }
    if (old != end && old->device->id == id) {
      Compare(*old++, listed, changes);
    } else {
      changes.push_back({Kind::kAppeared, id, ""});
    }
  }
  for (; old != end; ++old) changes.push_back({Kind::kForgotten, old->device->id, ""});
  for (const Rejection& rejection : after.rejected) {
    const auto& known = before->rejected;
    if (std::find(known.begin(), known.end(), rejection) != known.end()) continue;
    changes.push_back({Kind::kRejected, rejection.path,
                       format("{}: {}", Name(rejection.reason), rejection.detail)});
  }
  return changes;
}

}  // namespace patchbay
