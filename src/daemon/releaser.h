#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/log.h"
#include "inventory/hook_runner.h"
#include "inventory/release_tracker.h"
#include "model/snapshot.h"

namespace patchbay {

/// Has the release hook of a resource run for what pods leave behind. The decisions are those of
/// ReleaseTracker; this is their hands. A device that is not released though its pod is gone counts
/// as a failure of the hook, and is one line of the log unless there are many.
///
/// Belongs to the loop thread.
class Releaser {
 public:
  Releaser(std::shared_ptr<const ResourceSpec> spec, std::string node_name,
           std::shared_ptr<ResourceObserver> observer, Log& log, std::shared_ptr<HookRunner> hooks);

  /// The entry of the resource is another one, with a release hook. What has begun ends as it was.
  void SetSpec(std::shared_ptr<const ResourceSpec> spec) { spec_ = std::move(spec); }

  /// The kubelet has said who holds the devices, by their IDs. `snapshot` may be null.
  void OnHolders(const HoldersReport& report, const Snapshot* snapshot);

  /// Containers start with these devices though the kubelet did not say who had them before.
  void OnUnverifiedStart(const std::set<std::string>& devices);

 private:
  Status Release(const std::string& device, const Snapshot* snapshot);
  void ReportMissed(const std::string& device, const std::string& reason, bool many);

  std::shared_ptr<const ResourceSpec> spec_;
  const std::string node_name_;
  const std::shared_ptr<ResourceObserver> observer_;
  Log& log_;
  const std::shared_ptr<HookRunner> hooks_;
  ReleaseTracker tracker_;
};

}  // namespace patchbay
