#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "health/probe_pool.h"
#include "health/timetable.h"
#include "model/spec.h"
#include "os/loop.h"

namespace patchbay {

/// How long a probe of this kind may take before it is given up: a program ends by its timeout and
/// the two seconds that killing it may take, see RunSubprocess.
std::chrono::milliseconds PatienceFor(const ProbeSpec& probe);

/// Has the devices of one resource probed when their time comes, and knows which of them work.
/// Belongs to the loop thread; the probes run in the pool, which outlives it.
class Prober {
 public:
  struct Events {
    /// Each probe that ended or hangs, on the loop; again each time that one hangs still when the
    /// device is due.
    std::function<void(const std::string& id, const ProbeOutcome& outcome)> on_probe;
    /// Verdicts have changed.
    std::function<void(Timetable::Change change)> on_change;
  };

  /// `spec` has a probe.
  Prober(Loop& loop, ProbePool& pool, std::shared_ptr<const ResourceSpec> spec,
         ProbeContext context, Events events);
  ~Prober();
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  /// The entry of the resource is another one, with a probe; see Timetable.
  void SetSpec(std::shared_ptr<const ResourceSpec> spec);
  /// All devices that are known now, see Timetable.
  void SetDevices(const std::vector<Timetable::Presence>& devices);
  Timetable::Verdict VerdictOn(const std::string& id) const { return timetable_.VerdictOn(id); }

 private:
  void ProbeDue();
  void Begin(const Timetable::Run& run);
  void OnOutcome(const std::string& id, std::uint64_t run, const ProbeOutcome& outcome);
  void AwaitNext();

  Loop& loop_;
  ProbePool& pool_;
  std::shared_ptr<const ResourceSpec> spec_;
  const ProbeContext context_;
  const Events events_;
  Timetable timetable_;
  Subscription timer_;
};

}  // namespace patchbay
