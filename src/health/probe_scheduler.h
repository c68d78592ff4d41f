#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "health/probe.h"
#include "health/thresholds.h"
#include "model/device.h"

namespace patchbay {

/// The reason of a device that is unhealthy until its first probe.
inline constexpr std::string_view kNotProbedYet = "it has not been probed yet";

/// Decides when the devices of one resource are probed, and keeps the results. A value; time is an
/// argument.
///
/// A new device is probed after initial_delay plus a random delay, so that not all probes start at
/// the same time. A device that is back, or whose nodes changed, is probed immediately. The next
/// probe starts one period (+/- 10 %) after the start of the last. A device has at most one probe
/// at a time: while it hangs, each due probe counts as a failure, and nothing runs.
class ProbeScheduler {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// One probe of a device.
  struct Run {
    std::shared_ptr<const Device> device;
    std::uint64_t number = 0;
    /// If set, an earlier probe of the device hangs: run nothing, and call Finish immediately with
    /// a timeout that hangs and has this reason.
    std::optional<std::string> hang = {};
  };

  /// The health that is reported for a device.
  struct DeviceHealth {
    Health health = Health::kHealthy;
    std::string reason;  ///< of the last failure; empty for a healthy one
    bool operator==(const DeviceHealth&) const = default;
  };
  /// A known device, and whether it is present.
  struct Presence {
    std::shared_ptr<const Device> device;
    bool present = true;
  };

  ProbeScheduler(const ProbeSpec& spec, std::uint32_t seed) : spec_(spec), random_(seed) {}

  /// Replaces the probe. The health of a device stays as it is until the first result of the new
  /// probe, which starts soon, but not for all devices at the same time. Results of old probes that
  /// still run do not count.
  void SetSpec(const ProbeSpec& spec, Time now);

  /// Sets the known devices. Those that are not present are not probed and keep their state; the
  /// state of devices that are not known is dropped.
  void SetDevices(const std::vector<Presence>& devices, Time now);

  /// A device and the time of its next probe; nothing if it is not probed.
  struct Scheduled {
    std::string device;
    std::optional<Time> due = {};
    bool operator==(const Scheduled&) const = default;
  };
  /// Returns the devices whose next probe was scheduled, or dropped, since the last call, by ID. A
  /// probe that starts is not a change.
  std::vector<Scheduled> TakeScheduled();

  /// Returns when the next probe is due; none if all wait for a running probe.
  std::optional<Time> NextDue() const;
  /// Returns the probes to run now. Each device counts as being probed until Finish.
  std::vector<Run> TakeDue(Time now);
  /// Records the result of a run. If the outcome `hangs`, the run continues: call Finish again when
  /// it ends, with a result that does not count. The result does not count either if the device was
  /// removed, or its nodes changed, during the probe; then the new device is probed immediately.
  enum class Change { kNothing, kReason, kHealth };
  Change Finish(const std::string& id, std::uint64_t run, const ProbeOutcome& outcome, Time now);

  /// Returns the health of a device; healthy if it is not known.
  DeviceHealth HealthOf(const std::string& id) const;
  /// Returns the devices for which Finish has returned a change since the last call.
  std::set<std::string> TakeChanged() { return std::exchange(changed_, {}); }

 private:
  struct Entry {
    std::shared_ptr<const Device> device;
    Thresholds thresholds;
    std::string reason;
    std::optional<Time> due = {};          ///< of the next probe, which waits for a running one
    Time begun{};                          ///< of the last
    std::uint64_t run = 0;                 ///< the number of the running probe; 0 for none
    std::uint64_t counts_from = 0;         ///< the first run whose result counts
    std::optional<std::string> hang = {};  ///< the reported reason, while `run` hangs
    bool present = true;
    bool known = true;  ///< false: the entry exists only until its probe ends
    std::uint64_t seen = 0;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  Entries::iterator Admit(const std::string& id);
  void Forget(std::uint64_t not_seen_in);
  void Schedule(Entries::value_type& at, std::optional<Time> due);
  static Change RecordResult(Entry& entry, const ProbeOutcome& outcome);
  std::chrono::nanoseconds PartOfPeriod(double least, double most);

  ProbeSpec spec_;
  std::minstd_rand random_;
  std::uint64_t calls_ = 0;     ///< of SetDevices
  std::uint64_t last_run_ = 0;  ///< the number of the newest
  Entries entries_;
  std::set<std::pair<Time, std::string_view>> queue_;  ///< keys of entries_ that wait
  std::set<std::string> scheduled_;                    ///< since the last TakeScheduled
  std::set<std::string> changed_;                      ///< since the last TakeChanged
};

}  // namespace patchbay
