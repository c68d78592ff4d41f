#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "discovery/discover.h"
#include "health/probe_scheduler.h"
#include "model/snapshot.h"

namespace patchbay {

/// The devices of a resource over time: those that are present, and those that disappeared and are
/// not forgotten yet. A value; its functions are pure, with time as an argument. Their effect is
/// visible after Publish.
class Inventory {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// The maximum number of remembered missing devices that no pod holds, unless more devices were
  /// present at one time.
  static constexpr std::size_t kMaxVanished = 1'000;
  /// Returns the health of a device by its ID; null if the resource has no probe.
  using HealthLookup = std::function<ProbeScheduler::DeviceHealth(const std::string& id)>;

  Inventory(std::shared_ptr<const ResourceSpec> spec, std::string node_name)
      : spec_(std::move(spec)), node_name_(std::move(node_name)) {}

  /// Replaces the entry of the resource from the next MergeScan on, which merges a scan for it. If
  /// the new entry `finds_others`, a device that it no longer finds is dropped as soon as no pod
  /// holds it.
  void SetSpec(std::shared_ptr<const ResourceSpec> spec, bool finds_others);

  /// Merges the result of a scan taken at `now`. A missing device is Unhealthy until forget_after
  /// has passed, then it is dropped; a device that returns is Healthy again. A device in a place
  /// that could not be read stays as it was. Returns the number of missing devices that were
  /// dropped early: the oldest ones, if more than kMaxVanished are remembered.
  std::size_t MergeScan(Discovery discovery, Time now);

  /// Sets the IDs of the devices that pods hold. A missing device is not dropped while it is held.
  void SetHeld(std::set<std::string> ids);

  /// The same for devices that claims hold. One that no scan has found is listed without nodes
  /// while it is held, from the first MergeScan on: as missing, or if not all places could be read,
  /// as unhealthy. Returns whether Publish is needed.
  bool SetClaimed(std::set<std::string> ids, Time now);

  /// Drops the missing devices that expired; call it at NextExpiry.
  void Expire(Time now);
  /// Returns the time at which the next missing device expires.
  std::optional<Time> NextExpiry() const;

  /// Returns all devices, with those marked that are present and not in a container.
  std::vector<ProbeScheduler::Presence> Known() const;

  /// Makes a new snapshot. A missing device, or one that cannot be allocated, is Unhealthy
  /// regardless of its probe. Healthy devices have the lowest rank, then come present ones and
  /// missing ones that pods hold, then the other missing ones, newest first.
  void Publish(const HealthLookup& health_of = nullptr);
  /// The same if, since the last Publish, only the health of these devices may have changed and no
  /// other function than SetHeld was called. Copies the other devices from the last snapshot.
  void PublishHealth(const std::set<std::string>& changed, const HealthLookup& health_of);
  /// The last published snapshot; the same object as long as nothing changed.
  const std::shared_ptr<const Snapshot>& snapshot() const { return snapshot_; }

 private:
  /// Why a device is missing or cannot be allocated. Few devices have a problem.
  struct Problem {
    std::string reason;
    std::optional<Time> vanished_at = {};
    std::uint32_t vanished_as = 0;   ///< the number of the disappearance, counted over all devices
    bool removed_by_config = false;  ///< by a change of the entry; kept only while held
    bool never_found = false;        ///< see ListedDevice
  };
  struct Tracked {
    std::shared_ptr<const Device> device;
    std::unique_ptr<Problem> problem = {};  ///< null if there is none

    bool is_missing() const { return problem != nullptr && problem->vanished_at; }
    bool never_found() const { return problem != nullptr && problem->never_found; }
  };
  bool IsForgettable(const Tracked& tracked) const {
    return tracked.is_missing() && !held_.contains(tracked.device->id);
  }
  std::vector<Tracked>::iterator PlaceOf(const std::string& id);
  bool ListNeverFound(Time now);
  std::size_t DropOldest();
  Time ExpiryOf(const Tracked& tracked) const;
  ListedDevice Listed(const Tracked& tracked, const HealthLookup& health_of) const;

  std::shared_ptr<const ResourceSpec> spec_;
  bool finds_others_ = false;                      ///< since the last MergeScan
  std::shared_ptr<const ResourceSpec> next_spec_;  ///< from the next MergeScan on; usually null
  std::string node_name_;
  std::vector<Tracked> tracked_;  ///< ordered by IdLess
  std::vector<Rejection> rejected_;
  std::vector<MissingMount> missing_mounts_;
  std::vector<DeviceNote> notes_;
  std::vector<UnusedExclude> unused_excludes_;
  bool is_complete_ = true;  ///< the last scan could read everything
  std::set<std::string> held_;
  bool are_claimed_ = false;     ///< `held_` was set by SetClaimed
  bool has_new_ranks_ = false;   ///< by SetHeld, since the last Publish
  std::size_t max_present_ = 0;  ///< devices present at one time
  std::uint32_t last_vanished_ = 0;
  std::shared_ptr<const Snapshot> snapshot_;  ///< null before the first Publish
};

}  // namespace patchbay
