#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "health/probe.h"
#include "model/match_summary.h"
#include "model/pod_usage.h"
#include "model/snapshot.h"
#include "model/spec.h"
#include "status/counters.h"
#include "status/registration_status.h"

namespace patchbay {

class StatusStore;

/// Receives the events of one resource, for its status and its counters. Made by
/// StatusStore::AddResource. All functions may be called from any thread and return immediately.
class ResourceObserver {
 public:
  ResourceObserver(std::shared_ptr<StatusStore> store, std::string resource,
                   std::shared_ptr<ResourceCounters> counters);

  /// The device list changed to `snapshot`.
  void OnSnapshot(std::shared_ptr<const Snapshot> snapshot);
  /// The number of devices that another resource lists as well, see inventory/shared_nodes.h.
  void OnShared(std::size_t devices);
  /// A scan of the host ended and its result is in the list; `complete` if everything could be
  /// read.
  void OnScan(std::chrono::nanoseconds duration, bool complete);
  /// A probe of a device ended.
  void OnProbe(const std::string& device, const ProbeOutcome& outcome);
  /// The next probe of a device starts after this time; nothing if the device is not probed.
  void OnNextProbe(const std::string& device, std::optional<std::chrono::nanoseconds> in);
  /// Why the last scan found no device, match by match; null if the resource has devices.
  void OnExplanation(std::shared_ptr<const MatchSummaries> explanation);
  /// The programs of a hook ended, for all devices concerned.
  void OnHook(Hook hook, bool success, std::chrono::nanoseconds duration);
  /// The pods that hold the devices changed.
  void OnUsage(std::shared_ptr<const PodUsage> usage);
  /// An attempt to register ended.
  void OnRegistration(bool accepted) { counters_->registrations.of(accepted).Increment(); }
  /// The registration status changed.
  void OnRegistrationStatus(const RegistrationStatus& registration);
  /// The number of open ListAndWatch streams changed.
  void OnStreams(int open);
  /// A list was sent on one stream.
  void OnListSent() { counters_->lists_sent.Increment(); }
  /// A call ended; `code` is the gRPC status in capitals: "OK", "NOT_FOUND".
  void OnRpc(Rpc rpc, std::string_view code, std::chrono::nanoseconds duration);
  /// A container request of an Allocate call succeeded, with this number of devices, or failed.
  void OnAllocation(bool granted, int devices);

 private:
  const std::shared_ptr<StatusStore> store_;
  const std::string resource_;
  const std::shared_ptr<ResourceCounters> counters_;
};

/// Receives the events of a driver, like ResourceObserver.
class DriverObserver {
 public:
  virtual ~DriverObserver() = default;

  /// A call ended; `code` is the gRPC status in capitals: "OK", "CANCELLED".
  virtual void OnRpc(DriverRpc rpc, std::string_view code) = 0;
  /// The number of open health streams changed.
  virtual void OnHealthStreams(int open) = 0;
  /// A claim of a call was prepared, or released, or failed. `resource` is empty if its devices are
  /// not known. A claim with devices of several resources ends once for each.
  virtual void OnClaimPrepare(const std::string& resource, bool success,
                              std::chrono::nanoseconds duration) = 0;
  virtual void OnClaimUnprepare(const std::string& resource, bool success) = 0;
};

}  // namespace patchbay
