#include "daemon/scan_scheduler.h"

#include <algorithm>
#include <cassert>
#include <variant>

namespace patchbay {
namespace {

constexpr std::chrono::seconds kLimit{10};
/// The maximum time to stop a program; see RunSubprocess.
constexpr std::chrono::seconds kStopProgram{3};

}  // namespace

bool ScanScheduler::Request() {
  requested_ = true;
  return !scanning_ && !pausing_;
}

std::uint64_t ScanScheduler::Start(Time now) {
  assert(!scanning_);  // two scans at a time would share the cache
  if (now - pause_end_ >= kCalm) pause_ = {};
  scanning_ = true;
  pausing_ = requested_ = false;
  return ++last_;
}

void ScanScheduler::Abandon() {
  scanning_ = false;
  abandoned_.insert(last_);
}

ScanScheduler::Finished ScanScheduler::Finish(std::uint64_t scan) {
  if (abandoned_.erase(scan) > 0) {
    return abandoned_.empty() ? Finished::kLastAbandoned : Finished::kAbandoned;
  }
  scanning_ = false;
  return Finished::kCounts;
}

/// A scan that waited for a file system or a program did not cost what it took, hence the maximum.
ScanScheduler::Duration ScanScheduler::Pause(Duration took, Time now) {
  pause_ = std::min<Duration>(std::max<Duration>(2 * pause_, took), kMaxPause);
  const Duration pause = last_ == 1 ? std::max<Duration>(pause_, kFirstPause) : pause_;
  pause_end_ = now + pause;
  pausing_ = true;
  return pause;
}

bool ScanScheduler::EndPause() {
  pausing_ = false;
  return requested_;
}

std::chrono::seconds ScanLimit(const ResourceSpec& spec) {
  std::chrono::milliseconds limit = kLimit;
  for (const MatchSpec& match : spec.matches) {
    const auto* command = std::get_if<CommandSource>(&match.source);
    if (command != nullptr) limit += command->timeout + kStopProgram;
  }
  return std::chrono::ceil<std::chrono::seconds>(limit);
}

}  // namespace patchbay
