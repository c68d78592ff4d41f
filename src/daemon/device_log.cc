#include "daemon/device_log.h"

#include <algorithm>

#include "inventory/diff.h"

namespace patchbay {
namespace {

/// More changes than this are logged as a summary.
constexpr std::size_t kMaxChangesLogged = 20;

std::size_t CountUnhealthy(const Snapshot& snapshot) {
  return static_cast<std::size_t>(
      std::count_if(snapshot.devices.begin(), snapshot.devices.end(),
                    [](const ListedDevice& d) { return d.health == Health::kUnhealthy; }));
}

}  // namespace

void LogDeviceChanges(Log& log, const Snapshot* before, const Snapshot& after) {
  const std::string& resource = after.spec->name;
  const auto changes = before == nullptr ? ProblemsAtStart(after) : Diff(before, after);
  if (before == nullptr || changes.size() > kMaxChangesLogged) {
    log.Info("device list updated", {{"resource", resource},
                                     {"listed", after.devices.size()},
                                     {"unhealthy", CountUnhealthy(after)},
                                     {"rejected", after.rejected.size()}});
  }
  if (changes.size() > kMaxChangesLogged) return;
  for (const Change& change : changes) {
    switch (change.kind) {
      case Change::Kind::kAppeared:
        log.Info("device appeared", {{"resource", resource}, {"device", change.device}});
        break;
      case Change::Kind::kHealthy:
        log.Info("device is healthy", {{"resource", resource}, {"device", change.device}});
        break;
      case Change::Kind::kForgotten:
        log.Info("device removed", {{"resource", resource}, {"device", change.device}});
        break;
      case Change::Kind::kUnhealthy:
        log.Warning("device is unhealthy",
                    {{"resource", resource}, {"device", change.device}, {"reason", change.reason}});
        break;
      case Change::Kind::kRejected:
        log.Warning("device rejected",
                    {{"resource", resource}, {"path", change.device}, {"reason", change.reason}});
        break;
      case Change::Kind::kAccepted:
        log.Info("device no longer rejected", {{"resource", resource}, {"path", change.device}});
        break;
      case Change::Kind::kMoved:
        log.Warning("device ID moved to another node",
                    {{"resource", resource}, {"device", change.device}, {"reason", change.reason}});
        break;
      case Change::Kind::kNote:
        log.Warning("device needs attention",
                    {{"resource", resource}, {"device", change.device}, {"reason", change.reason}});
        break;
      case Change::Kind::kUnusedExclude:
        log.Warning("exclude has no effect",
                    {{"resource", resource}, {"path", change.device}, {"reason", change.reason}});
        break;
      case Change::Kind::kMissingMount:
        log.Warning("mount source is missing",
                    {{"resource", resource}, {"path", change.device}, {"reason", change.reason}});
        break;
    }
  }
}

}  // namespace patchbay
