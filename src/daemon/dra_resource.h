#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "daemon/dra_service.h"
#include "os/loop.h"
#include "status/observer.h"

namespace patchbay {

/// Serves one resource through a DraService, with the functions that ResourcePlugin has for the
/// device plugin API.
///
/// Belongs to the loop thread.
class DraResource {
 public:
  /// Called on the loop.
  struct Events {
    std::function<void()> on_stale;  ///< a device of a claim is not as listed: scan again
    /// The IDs of the devices that claims hold have changed.
    std::function<void(const std::set<std::string>& ids)> on_held;
    std::function<void()> on_state;  ///< registered(), or the reason why not, has changed
  };

  /// The name of the resource is set in `service`, which must outlive this object.
  DraResource(DraService& service, std::string name, std::shared_ptr<ResourceObserver> observer,
              std::shared_ptr<HookRunner> hooks, const AllocationHost& allocation, Events events);
  ~DraResource();
  DraResource(const DraResource&) = delete;
  DraResource& operator=(const DraResource&) = delete;

  /// Sets the snapshot, which is published as slices and answers claims.
  void Publish(std::shared_ptr<const Snapshot> snapshot);

  /// Stops serving, then calls `done` once. Slices and claims stay. Cancels a drain.
  void End(const std::function<void()>& done);
  /// The same for a resource that was removed, whose slices the service deletes: `done` is called
  /// when no call of the kubelet uses its devices, so that the hooks of claims run to their end.
  void Drain(std::function<void()> done);

  /// Returns whether pods can get the devices.
  bool registered() const { return is_registered_; }

 private:
  void OnState();
  void StopServing();

  DraService& service_;
  const std::string name_;
  const std::shared_ptr<ResourceObserver> observer_;
  const Events events_;
  bool is_registered_ = false;
  bool has_ended_ = false;
  Subscription unused_;
};

}  // namespace patchbay
