#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"

namespace patchbay {

/// Memory shared by PID 1 and the worker process, in which the worker reports that it is alive.
/// Thread-safe.
class Heartbeat {
 public:
  /// Fails if no memory can be shared.
  static Result<std::shared_ptr<Heartbeat>> Create();
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// The interval between calls of Beat.
  static constexpr std::chrono::seconds kPeriod{5};

  /// Reports that the worker process is alive. After the first call, the worker is killed if the
  /// calls stop.
  void Beat();
  /// Returns how often PID 1 has killed a worker process.
  std::uint64_t kills() const;

  // For PID 1.
  std::uint64_t beats() const;
  void CountKill();
  /// Resets the beats for a new worker process.
  void Restart();

 private:
  struct Page;
  explicit Heartbeat(Page* page) : page_(page) {}
  Page* page_;
};

/// Detects a process that hangs, by checks at regular intervals. It counts checks and does not
/// measure time, so that a pause of the whole machine is not mistaken for a hang.
class HangDetector {
 public:
  /// `max_missed` is the maximum number of consecutive checks without a beat.
  explicit HangDetector(int max_missed) : max_missed_(max_missed) {}

  /// Returns whether the process hangs, given the number of beats so far. Returns false before the
  /// first beat.
  bool Check(std::uint64_t beats);

 private:
  int max_missed_;
  int missed_ = 0;
  std::uint64_t last_ = 0;
};

/// Intervals and limits of the watchdog in PID 1.
struct WatchdogPace {
  std::chrono::milliseconds check = Heartbeat::kPeriod;
  int max_missed = 4;  ///< the kill follows 25 to 30 seconds after the last beat
  /// After SIGTERM or SIGINT, a worker process that has called Beat is killed after this time.
  std::chrono::milliseconds end{3000};
  /// After this many kills within `within`, PID 1 exits.
  std::size_t max_kills = 3;
  std::chrono::minutes within{10};
};

/// A kill by the watchdog, reported in PID 1. The callback must not block or start threads.
struct WatchdogKill {
  std::uint64_t kills = 0;  ///< including this one
  bool restarts = false;    ///< a new process starts; otherwise PID 1 exits
};
using OnWatchdogKill = std::function<void(const WatchdogKill&)>;

/// The role of this process.
struct Pid1Role {
  std::optional<int> exit_code;          ///< set if this was PID 1: exit with this code
  std::shared_ptr<Heartbeat> heartbeat;  ///< of a worker process; null if it is not watched
};

/// If this process is PID 1, as in a container whose image has no init, orphaned processes become
/// its children and remain zombies unless it reaps them; RunSubprocess reaps only its own. This
/// function then forks. It returns immediately in the worker process, which the kernel kills when
/// PID 1 exits. PID 1 stays in this function: it reaps all children and forwards SIGHUP, SIGINT,
/// SIGQUIT, SIGUSR1 and SIGTERM to the worker. When the worker has ended, it returns an exit code:
/// that of the worker, or 128 plus the signal number.
///
/// PID 1 is also a watchdog: if the worker stops beating, because it is stopped or its loop hangs,
/// PID 1 kills it and forks another one, in which the function returns in the same way. After too
/// many kills, and after SIGTERM or SIGINT, it returns an exit code instead.
///
/// If this process is not PID 1, the function does nothing. Call it before threads are started,
/// which fork does not copy, and before much memory is in use. Fails if no memory can be shared or
/// fork fails; nothing has changed in that case.
Result<Pid1Role> RunAsPid1(const OnWatchdogKill& on_kill, WatchdogPace pace = WatchdogPace());

}  // namespace patchbay
