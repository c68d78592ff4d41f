#pragma once

#include <chrono>
#include <cstdint>
#include <set>

#include "model/spec.h"

namespace patchbay {

/// Decides when the next scan of the host for one resource starts, and which results still count.
/// At most one scan runs, except for abandoned ones. Requests during a scan, or during the pause
/// after it, cause one more scan. While requests continue, the pauses double, up to kMaxPause.
///
/// Pure; time is an argument.
class ScanScheduler {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  static constexpr std::chrono::seconds kMaxPause{1};
  /// The shortest pause after the first scan, whose directories are scanned again because they were
  /// not watched yet. The kubelet gets the devices before.
  static constexpr std::chrono::milliseconds kFirstPause{100};
  /// A gap between requests that is longer than this resets the pause.
  static constexpr std::chrono::milliseconds kCalm{250};

  /// Requests a scan. Returns true if it may start now; otherwise it follows the running scan.
  bool Request();
  /// Starts a scan and returns its number. None may be running.
  std::uint64_t Start(Time now);
  /// Gives up on the running scan, which hangs: its result does not count, another scan may start.
  void Abandon();

  enum class Finished {
    kCounts,     ///< the result of the running scan
    kAbandoned,  ///< the result of an abandoned scan; others still hang
    kLastAbandoned,
  };
  /// A scan ended.
  Finished Finish(std::uint64_t scan);
  /// Starts the pause after a scan that took the duration `took`, and returns its length.
  Duration Pause(Duration took, Time now);
  /// The pause has ended. Returns true if a scan was requested during it.
  bool EndPause();

  bool scanning() const { return scanning_; }
  bool has_abandoned() const { return !abandoned_.empty(); }

 private:
  std::uint64_t last_ = 0;             ///< the number of the last scan
  std::set<std::uint64_t> abandoned_;  ///< scans that hang and whose results do not count
  bool scanning_ = false;
  bool pausing_ = false;
  bool requested_ = false;  ///< since the last scan started
  Duration pause_{};
  Time pause_end_{};
};

/// The time after which a scan for the resource counts as hanging: ten seconds, and the timeouts of
/// its commands, which run one after the other.
std::chrono::seconds ScanLimit(const ResourceSpec& spec);

}  // namespace patchbay
