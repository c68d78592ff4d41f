#pragma once

#include <memory>
#include <set>
#include <string>

#include "base/log.h"
#include "hooks/hook_runner.h"
#include "hooks/release_tracker.h"
#include "model/snapshot.h"
#include "status/observer.h"

namespace patchbay {

/// Runs the release hook of a resource for devices that pods no longer hold. ReleaseTracker
/// decides. A device that is not released although its pod has ended counts as a failed hook
/// and is logged, unless there are many.
///
/// Belongs to the loop thread.
class ReleaseHooks {
 public:
  ReleaseHooks(std::shared_ptr<const ResourceSpec> spec, std::string node_name,
               std::shared_ptr<ResourceObserver> observer, Log& log,
               std::shared_ptr<HookRunner> hooks);

  /// Replaces the configuration of the resource, which has a release hook. Hooks that run continue
  /// with the old one.
  void SetSpec(std::shared_ptr<const ResourceSpec> spec) { spec_ = std::move(spec); }

  /// The kubelet reported the holders of the devices, by their IDs. `snapshot` may be null.
  void OnHolders(const HoldersReport& report, const Snapshot* snapshot);

  /// Containers start with these devices while their previous holders are unknown.
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
