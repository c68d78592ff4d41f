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

/// Why a device is unhealthy that was not probed yet and is doubted until then.
inline constexpr std::string_view kNotProbedYet = "it was not probed yet";

/// When the devices of one resource are probed, and what came of it. A value; time is an argument.
///
/// A new device is probed after initial_delay and a little more, so that many do not start at once;
/// one that is back, or whose nodes are others now, at once; each again a period after its last
/// probe began, a tenth more or less. None is probed twice at a time: while a probe of a device
/// hangs, each time that the device is due counts as a failure, and nothing is run.
class Timetable {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// One probe of a device.
  struct Run {
    std::shared_ptr<const Device> device;
    std::uint64_t number = 0;
    /// Why nothing can be run: an earlier probe of the device hangs. Finish is to be called at
    /// once, with a timeout that hangs and has this reason. Normally absent.
    std::optional<std::string> hang = {};
  };

  /// What is reported of a device.
  struct Verdict {
    Health health = Health::kHealthy;
    std::string reason;  ///< of the last failure; empty for a healthy one
    bool operator==(const Verdict&) const = default;
  };
  /// A device that is known, and whether it is there.
  struct Presence {
    std::shared_ptr<const Device> device;
    bool present = true;
  };

  Timetable(const ProbeSpec& spec, std::uint32_t seed) : spec_(spec), random_(seed) {}

  /// From now on the probe is another one. What is known of a device stays in force until the new
  /// one has had its say, which begins soon, and not everywhere at once. The result of an old one
  /// that still runs does not count.
  void SetSpec(const ProbeSpec& spec, Time now);

  /// All devices that are known now. Those that are not there are not probed, and keep their state;
  /// of others nothing is remembered.
  void SetDevices(const std::vector<Presence>& devices, Time now);

  /// When TakeDue will have something; nothing while no probe is due but by an end of another.
  std::optional<Time> NextDue() const;
  /// The probes to be run now; each device counts as being probed until Finish.
  std::vector<Run> TakeDue(Time now);
  /// The result of the run with this number. One that `hangs` goes on: Finish is to be called once
  /// more when it is over, with a result that does not count. Nor does the result of a device that
  /// went, or whose nodes changed, while it was probed: it says nothing of the device that is there
  /// now, which is probed at once.
  enum class Change { kNothing, kReason, kHealth };
  Change Finish(const std::string& id, std::uint64_t run, const ProbeOutcome& outcome, Time now);

  /// Healthy for a device that is not known.
  Verdict VerdictOn(const std::string& id) const;

 private:
  struct Entry {
    std::shared_ptr<const Device> device;
    Thresholds thresholds;
    std::string reason;
    std::optional<Time> due = {};   ///< of the next probe, which waits for one that is running
    Time begun{};                   ///< of the last
    std::uint64_t run = 0;          ///< the number of the one that is running; 0 for none
    std::uint64_t counts_from = 0;  ///< the first run whose result says something of the device
    std::optional<std::string> hang = {};  ///< the reason that was given, while `run` hangs
    bool present = true;
    bool known = true;  ///< else it is only here until its probe ends
    std::uint64_t seen = 0;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  Entries::iterator Admit(const std::string& id);
  void Forget(std::uint64_t not_seen_in);
  void Schedule(Entries::value_type& at, std::optional<Time> due);
  static Change Judge(Entry& entry, const ProbeOutcome& outcome);
  std::chrono::nanoseconds PartOfPeriod(double least, double most);

  ProbeSpec spec_;
  std::minstd_rand random_;
  std::uint64_t calls_ = 0;     ///< of SetDevices
  std::uint64_t last_run_ = 0;  ///< the number of the newest
  Entries entries_;
  std::set<std::pair<Time, std::string_view>> queue_;  ///< keys of entries_ that wait
};

}  // namespace patchbay
