#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "discovery/discover.h"
#include "model/snapshot.h"

namespace patchbay {

/// What is known of a resource's devices over time: those that are there, and those that went and
/// are not forgotten yet. A value; its steps are pure functions with time as an argument.
class Inventory {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Inventory(std::shared_ptr<const ResourceSpec> spec, std::string node_name)
      : spec_(std::move(spec)), node_name_(std::move(node_name)) {}

  /// Takes in what a pass over the host found at `now`. A device that is missing is unhealthy until
  /// forget_after has passed, then it is dropped; one that is back is healthy again. One that lies
  /// where nothing could be read stays as it was.
  void Advance(Discovery discovery, Time now);

  /// Drops the devices whose time is over; called at NextExpiry.
  void Expire(Time now);
  /// When the next vanished device is to be dropped.
  std::optional<Time> NextExpiry() const;

  /// The devices as of the last step. Shared, and the same object as long as nothing changed.
  const std::shared_ptr<const Snapshot>& snapshot() const { return snapshot_; }

 private:
  struct Tracked {
    std::shared_ptr<const Device> device;
    std::optional<Time> vanished_at;
    std::string reason;  ///< why it vanished
  };
  void Publish();

  std::shared_ptr<const ResourceSpec> spec_;
  std::string node_name_;
  std::vector<Tracked> tracked_;  ///< in the order of IdLess
  std::vector<Rejection> rejected_;
  std::shared_ptr<const Snapshot> snapshot_;  ///< null before the first step
};

}  // namespace patchbay
