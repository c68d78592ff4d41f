#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"

namespace patchbay {

/// What PID 1 and the process that works share: the latter shows that it is alive. Thread-safe.
class Heartbeat {
 public:
  /// Fails where there is no memory to share.
  static Result<std::shared_ptr<Heartbeat>> Create();
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// How often to call Beat.
  static constexpr std::chrono::seconds kPeriod{5};

  /// From the first call on the process that works is killed when the calls stop.
  void Beat();
  /// How often that has happened.
  std::uint64_t kills() const;

  // For PID 1.
  std::uint64_t beats() const;
  void CountKill();
  /// Another process begins to work.
  void Restart();

 private:
  struct Page;
  explicit Heartbeat(Page* page) : page_(page) {}
  Page* page_;
};

/// Tells a process that hangs from one that is slow, by checks at regular intervals. It counts its
/// own checks and no time, so that a pause of the whole machine is not held against anybody.
class HangDetector {
 public:
  /// `most_missed` is how many checks in a row may see no beat.
  explicit HangDetector(int most_missed) : most_missed_(most_missed) {}

  /// Returns whether the process hangs, given how many beats there were. Without any beat it is not
  /// watched.
  bool Check(std::uint64_t beats);

 private:
  int most_missed_;
  int missed_ = 0;
  std::uint64_t last_ = 0;
};

struct WatchdogPace {
  std::chrono::milliseconds check = Heartbeat::kPeriod;
  int most_missed = 4;  ///< so it is killed 25 to 30 seconds after its last beat
  /// A process that was asked to end, and has beaten, is killed after this time.
  std::chrono::milliseconds end{3000};
  /// So many kills within this time are more than a new process can cure.
  std::size_t most_kills = 3;
  std::chrono::minutes within{10};
};

/// What the watchdog reports, in PID 1: it must not block or start threads.
struct WatchdogKill {
  std::uint64_t kills = 0;  ///< this one included
  bool restarts = false;    ///< another process takes over; else PID 1 exits
};
using OnWatchdogKill = std::function<void(const WatchdogKill&)>;

/// Which part of the program this process has to play.
struct InitRole {
  std::optional<int> exit_code;          ///< it was the init; exit with this
  std::shared_ptr<Heartbeat> heartbeat;  ///< it works and is watched; null where nobody watches
};

/// Where this process is PID 1, as in a container whose image has no init, orphans are its
/// children, and stay zombies for ever unless it reaps them; RunChild reaps only its own. So this
/// forks. In the copy, which is to do the work and which the kernel ends with PID 1, it returns
/// at once. PID 1 stays in here as an init: it reaps all that ends, passes SIGHUP, SIGINT,
/// SIGQUIT, SIGUSR1 and SIGTERM on to the copy, and returns the exit code once the copy
/// has ended: its own, or 128 and its signal.
///
/// It is a watchdog as well: when the copy stops beating, because it is stopped or its loop hangs,
/// PID 1 kills it and forks another one, in which this returns in the same way. After too many
/// kills, and when the end was asked for, it returns an exit code instead.
///
/// Where the process is not PID 1 this does nothing. Call it before there are threads, which a copy
/// would lack, and before memory is filled, which there would be twice. If there can be no copy
/// that is an error, after which all is as before.
Result<InitRole> RunAsInit(const OnWatchdogKill& on_kill, WatchdogPace pace = WatchdogPace());

}  // namespace patchbay
