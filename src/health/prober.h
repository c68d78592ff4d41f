#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "health/probe_pool.h"
#include "health/probe_scheduler.h"
#include "model/spec.h"
#include "os/loop.h"

namespace patchbay {

/// Returns the time after which a probe counts as hanging: its timeout, plus the two seconds that
/// it may take to kill a program, see RunSubprocess.
std::chrono::milliseconds PatienceFor(const ProbeSpec& probe);

/// Probes the devices of one resource and keeps their health. ProbeScheduler decides. Belongs to
/// the loop thread; the probes run in the pool, which must outlive it.
class Prober {
 public:
  struct Events {
    /// A probe ended or hangs; called on the loop, and again each time that the device is due while
    /// its probe hangs.
    std::function<void(const std::string& id, const ProbeOutcome& outcome)> on_probe;
    /// The health of devices changed.
    std::function<void(ProbeScheduler::Change change)> on_change;
    /// The next probe of a device was scheduled, or the device is no longer probed. May be null.
    std::function<void(const std::string& id, std::optional<Loop::Time> due)> on_scheduled =
        nullptr;
  };

  /// `spec` has a probe.
  Prober(Loop& loop, ProbePool& pool, std::shared_ptr<const ResourceSpec> spec,
         ProbeContext context, Events events);
  ~Prober();
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  /// Replaces the configuration of the resource, which has a probe; see ProbeScheduler.
  void SetSpec(std::shared_ptr<const ResourceSpec> spec);
  /// Sets the known devices, see ProbeScheduler.
  void SetDevices(const std::vector<ProbeScheduler::Presence>& devices);
  ProbeScheduler::DeviceHealth HealthOf(const std::string& id) const {
    return scheduler_.HealthOf(id);
  }
  /// Returns the devices whose health changed since the last call, see ProbeScheduler.
  std::set<std::string> TakeChanged() { return scheduler_.TakeChanged(); }

 private:
  void ProbeDue();
  void Begin(const ProbeScheduler::Run& run);
  void OnOutcome(const std::string& id, std::uint64_t run, const ProbeOutcome& outcome);
  void AwaitNext();

  Loop& loop_;
  ProbePool& pool_;
  std::shared_ptr<const ResourceSpec> spec_;
  const ProbeContext context_;
  const Events events_;
  ProbeScheduler scheduler_;
  Subscription timer_;
};

}  // namespace patchbay
