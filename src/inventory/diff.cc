#include "inventory/diff.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "health/probe_scheduler.h"
#include "model/snapshot_pairs.h"

namespace patchbay {
namespace {

using Kind = Change::Kind;

void AddProblem(const ListedDevice& first, std::vector<Change>& changes) {
  if (first.health == Health::kHealthy || first.reason == kNotProbedYet) return;
  changes.push_back({Kind::kUnhealthy, first.device->id, first.reason});
}

void Compare(const ListedDevice& before, const ListedDevice& after, std::vector<Change>& changes) {
  const bool first_result = before.reason == kNotProbedYet && after.reason != before.reason;
  if (before.health == after.health && !first_result) return;
  changes.push_back({after.health == Health::kHealthy ? Kind::kHealthy : Kind::kUnhealthy,
                     after.device->id, after.reason});
}

/// A device that returns can have another node; one that was never away cannot, unless its ID moved
/// to other hardware.
void CompareLinks(const ListedDevice& before, const ListedDevice& after,
                  std::vector<Change>& changes) {
  if (before.device == after.device || before.is_missing || after.is_missing) return;
  for (const DeviceNode& node : after.device->nodes) {
    if (node.path == node.real_path) continue;
    for (const DeviceNode& old : before.device->nodes) {
      if (old.path != node.path || KeyOf(old) == KeyOf(node)) continue;
      changes.push_back(
          {Kind::kMoved, after.device->id,
           Format("{} led to {} ({}:{}) and leads to {} ({}:{}) now", node.path, old.real_path,
                  old.major, old.minor, node.real_path, node.major, node.minor)});
    }
  }
}

void CompareNotes(const std::vector<DeviceNote>& before, const std::vector<DeviceNote>& after,
                  std::vector<Change>& changes) {
  for (const DeviceNote& note : after) {
    if (std::ranges::count(before, note) > 0) continue;
    changes.push_back({Kind::kNote, note.device, note.text});
  }
}

void CompareMounts(const std::vector<MissingMount>& before, const std::vector<MissingMount>& after,
                   std::vector<Change>& changes) {
  std::set<std::string_view> known;
  for (const MissingMount& mount : before) known.insert(mount.path);
  for (const MissingMount& mount : after) {
    if (!known.contains(mount.path)) {
      changes.push_back({Kind::kMissingMount, mount.path, mount.detail});
    }
  }
}

void CompareExcludes(const std::vector<UnusedExclude>& before,
                     const std::vector<UnusedExclude>& after, std::vector<Change>& changes) {
  for (const UnusedExclude& exclude : after) {
    if (std::ranges::count(before, exclude) == 0) {
      changes.push_back({Kind::kUnusedExclude, exclude.what, std::string(exclude.reason())});
    }
  }
}

void CompareRejections(const std::vector<Rejection>& before, const std::vector<Rejection>& after,
                       std::vector<Change>& changes) {
  std::set<std::pair<std::string_view, RejectReason>> known;
  std::set<std::string_view> gone, still;
  for (const Rejection& rejection : before) known.emplace(rejection.path, rejection.reason);
  for (const Rejection& rejection : after) {
    still.insert(rejection.path);
    if (!known.emplace(rejection.path, rejection.reason).second) continue;
    changes.push_back({Kind::kRejected, rejection.path,
                       Format("{}: {}", Name(rejection.reason), rejection.detail)});
  }
  for (const Rejection& rejection : before) {
    if (still.contains(rejection.path) || !gone.insert(rejection.path).second) continue;
    changes.push_back({Kind::kAccepted, rejection.path, ""});
  }
}

}  // namespace

std::vector<Change> ProblemsAtStart(const Snapshot& first) {
  std::vector<Change> changes;
  for (const ListedDevice& listed : first.devices) AddProblem(listed, changes);
  CompareRejections({}, first.rejected, changes);
  CompareMounts({}, first.missing_mounts, changes);
  CompareNotes({}, first.notes, changes);
  CompareExcludes({}, first.unused_excludes, changes);
  return changes;
}

std::vector<Change> Diff(const Snapshot* before, const Snapshot& after) {
  static const Snapshot kNothing;
  if (before == nullptr) before = &kNothing;
  std::vector<Change> changes;
  VisitPairs(before->devices, after.devices, [&](const ListedDevice* old, const ListedDevice* now) {
    if (now == nullptr) {
      changes.push_back({Kind::kForgotten, old->device->id, ""});
    } else if (old != nullptr) {
      Compare(*old, *now, changes);
      CompareLinks(*old, *now, changes);
    } else {
      changes.push_back({Kind::kAppeared, now->device->id, ""});
      AddProblem(*now, changes);
    }
  });
  CompareRejections(before->rejected, after.rejected, changes);
  CompareMounts(before->missing_mounts, after.missing_mounts, changes);
  CompareNotes(before->notes, after.notes, changes);
  CompareExcludes(before->unused_excludes, after.unused_excludes, changes);
  return changes;
}

}  // namespace patchbay
