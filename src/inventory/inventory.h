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

/// What is known of a resource's devices over time: those that are there, and those that went and
/// are not forgotten yet. A value; its steps are pure functions with time as an argument. What they
/// come to is seen after Publish.
class Inventory {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// So many devices that vanished and that no pod holds are remembered; more only where as many
  /// were there at one time.
  static constexpr std::size_t kMaxVanished = 1'000;
  /// What the probes say of a device by its ID; null where there are none.
  using HealthLookup = std::function<ProbeScheduler::Verdict(const std::string& id)>;

  Inventory(std::shared_ptr<const ResourceSpec> spec, std::string node_name)
      : spec_(std::move(spec)), node_name_(std::move(node_name)) {}

  /// The entry of the resource is another one, in force from the next MergeScan on, which is to
  /// take in what was found by it. Where it `finds_others`, a device that was there and is not
  /// found any more is dropped as soon as no pod holds it.
  void SetSpec(std::shared_ptr<const ResourceSpec> spec, bool finds_others);

  /// Takes in what a pass over the host found at `now`. A device that is missing is unhealthy until
  /// forget_after has passed, then it is dropped; one that is back is healthy again. One that lies
  /// where nothing could be read stays as it was. Returns how many vanished devices were dropped
  /// before their time: the oldest, where more than kMaxVanished are remembered.
  std::size_t MergeScan(Discovery discovery, Time now);

  /// The IDs of the devices that pods hold; one that vanished is not dropped before it is let go.
  void SetHeld(std::set<std::string> ids) { held_ = std::move(ids); }

  /// Drops the devices whose time is over; called at NextExpiry.
  void Expire(Time now);
  /// When the next vanished device is to be dropped.
  std::optional<Time> NextExpiry() const;

  /// All devices, and which of them are there.
  std::vector<ProbeScheduler::Presence> Known() const;

  /// Makes the snapshot of all steps before. A device that went, or that no container could be
  /// given, is unhealthy whatever the probes said of it. Healthy devices have the lowest rank, then
  /// come those that are there and vanished ones that pods hold, then the others that vanished, the
  /// newest first.
  void Publish(const HealthLookup& health_of = nullptr);
  /// The last one that was published. Shared, and the same object as long as nothing changed.
  const std::shared_ptr<const Snapshot>& snapshot() const { return snapshot_; }

 private:
  struct Tracked {
    std::shared_ptr<const Device> device;
    std::string reason = {};  ///< why it vanished or cannot be given out; empty for neither
    std::optional<Time> vanished_at = {};
    std::uint32_t vanished_as = 0;  ///< the number of the device among all that vanished
    bool removed_by_config =
        false;  ///< by a change of the entry, and not forgotten only while held
  };
  bool IsForgettable(const Tracked& tracked) const {
    return tracked.vanished_at && !held_.contains(tracked.device->id);
  }
  std::size_t DropOldest();
  Time ExpiryOf(const Tracked& tracked) const;
  ListedDevice Listed(const Tracked& tracked, const HealthLookup& health_of) const;

  std::shared_ptr<const ResourceSpec> spec_;
  bool finds_others_ = false;                      ///< since the last MergeScan
  std::shared_ptr<const ResourceSpec> next_spec_;  ///< from the next MergeScan on; mostly null
  std::string node_name_;
  std::vector<Tracked> tracked_;  ///< in the order of IdLess
  std::vector<Rejection> rejected_;
  std::vector<MissingMount> missing_mounts_;
  std::set<std::string> held_;
  std::size_t max_present_ = 0;  ///< devices that were there at one time
  std::uint32_t last_vanished_ = 0;
  std::shared_ptr<const Snapshot> snapshot_;  ///< null before the first Publish
};

}  // namespace patchbay
