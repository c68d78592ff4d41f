#pragma once

#include <atomic>

#include "status/observer.h"

namespace patchbay::test {

/// Counts the events that tests check, ignores the others.
class CountingObserver : public ResourceObserver {
 public:
  void OnSnapshot(std::shared_ptr<const Snapshot>) override { ++snapshots; }
  void OnShared(std::size_t) override {}
  void OnScan(std::chrono::nanoseconds, bool) override { ++scans; }
  void OnProbe(const std::string&, const ProbeOutcome&) override { ++probes; }
  void OnNextProbe(const std::string&, std::optional<std::chrono::nanoseconds>) override {}
  void OnExplanation(std::shared_ptr<const MatchSummaries> now) override {
    explanation = std::move(now);
  }
  void OnHook(Hook, bool, std::chrono::nanoseconds) override { ++hooks; }
  void OnUsage(std::shared_ptr<const PodUsage> now) override {
    ++usages;
    usage = std::move(now);
  }
  void OnRegistration(bool) override { ++registrations; }
  void OnRegistrationStatus(const RegistrationStatus&) override {}
  void OnStreams(int) override {}
  void OnListSent() override {}
  void OnRpc(Rpc, std::string_view, std::chrono::nanoseconds) override {}
  void OnAllocation(bool, int) override {}

  std::atomic<int> snapshots = 0;
  std::atomic<int> scans = 0;
  std::atomic<int> probes = 0;
  std::atomic<int> hooks = 0;
  std::atomic<int> usages = 0;
  std::atomic<int> registrations = 0;                 ///< calls of Register that ended
  std::shared_ptr<const PodUsage> usage;              ///< the newest
  std::shared_ptr<const MatchSummaries> explanation;  ///< the newest
};

}  // namespace patchbay::test
