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
/// probe began, a tenth more or less. None is probed twice at a time.
class Timetable {
 public:
  using Time = std::chrono::steady_clock::time_point;

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
  /// one has had its say, which begins soon, and not everywhere at once. What an old one that still
  /// runs comes to does not count.
  void SetSpec(const ProbeSpec& spec, Time now);

  /// All devices that are known now. Those that are not there are not probed, and keep their state;
  /// of others nothing is remembered.
  void SetDevices(const std::vector<Presence>& devices, Time now);

  /// When TakeDue will have something; nothing while no probe is due but by an end of another.
  std::optional<Time> NextDue() const;
  /// The devices to be probed now; each counts as being probed until Finish.
  std::vector<std::shared_ptr<const Device>> TakeDue(Time now);
  /// What a probe of the device came to. One that `hangs` goes on: another Finish will follow,
  /// which only says that it is over. That of a device which went meanwhile does not count.
  enum class Change { kNothing, kReason, kHealth };
  Change Finish(const std::string& id, const ProbeOutcome& outcome, Time now);

  /// Healthy for a device that is not known.
  Verdict VerdictOn(const std::string& id) const;

 private:
  struct Entry {
    std::shared_ptr<const Device> device;
    Thresholds thresholds;
    std::string reason;
    std::optional<Time> due = {};  ///< of the next probe, which waits for one that is running
    Time begun{};                  ///< of the last
    bool present = true;
    bool running = false;
    bool hanging = false;   ///< running, and given up
    bool known = true;      ///< else it is only here until its probe ends
    bool outdated = false;  ///< what is running is a probe of another entry
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
  std::uint64_t calls_ = 0;  ///< of SetDevices
  Entries entries_;
  std::set<std::pair<Time, std::string_view>> queue_;  ///< keys of entries_ that wait
};

}  // namespace patchbay
