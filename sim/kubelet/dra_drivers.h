#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/kubelet/dra_rules.h"

namespace patchbay {

/// Identifies a registered instance of a driver.
using DraInstanceId = std::uint64_t;

/// One process that serves a driver. During a rolling update a driver has two.
struct DraInstance {
  DraInstanceId id = 0;
  std::string endpoint;
  DraServices services;
  bool connected = false;
};

/// The registered DRA drivers of the kubelet, and the ResourceSlices to delete because a driver is
/// disconnected (dra_plugin_manager.go).
///
/// Pure: the caller passes the time. Not thread-safe.
class DraDrivers {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit DraDrivers(std::chrono::milliseconds wipe_delay) : wipe_delay_(wipe_delay) {}

  /// Adds an instance that is not connected yet. Fails with kPrecondition and the error message of
  /// the kubelet if another instance of the driver has this endpoint.
  Status Add(const std::string& driver, DraInstance instance, Time now);
  void Remove(const std::string& driver, DraInstanceId id, Time now);
  void SetConnected(const std::string& driver, DraInstanceId id, bool connected, Time now);

  /// Returns the instance that the kubelet calls: the newest one that is connected or, if none is,
  /// the newest one. Returns nothing if the driver is not registered.
  std::optional<DraInstanceId> InUse(const std::string& driver) const;
  /// Returns the instances of a driver, the oldest one first.
  std::vector<DraInstance> Instances(const std::string& driver) const;

  /// Returns the drivers that have been disconnected for `wipe_delay`, once.
  std::vector<std::string> TakeDueWipes(Time now);
  /// Returns when TakeDueWipes returns a driver next.
  std::optional<Time> NextWipe() const;

 private:
  /// Schedules or cancels the wipe of a driver after its instances have changed.
  void Sync(const std::string& driver, Time now);

  const std::chrono::milliseconds wipe_delay_;
  std::map<std::string, std::vector<DraInstance>> drivers_;
  std::map<std::string, Time> wipes_;
};

}  // namespace patchbay
