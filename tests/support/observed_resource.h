#pragma once

#include <memory>
#include <string>

#include "status/status_store.h"

namespace patchbay::test {

/// The status and the counters of one resource, as its observer sets them.
class ObservedResource {
 public:
  const std::shared_ptr<ResourceObserver>& observer() const { return observer_; }
  ResourceStatus status() const { return store_->Read().resources.at(kName); }
  int scans() const { return static_cast<int>(status().counters->scans.Count()); }
  int probes() const { return static_cast<int>(status().counters->probe_durations.Count()); }
  /// The calls of Register that ended.
  int registrations() const {
    const CountersByResult& ended = status().counters->registrations;
    return static_cast<int>(ended.success.Value() + ended.failure.Value());
  }

 private:
  inline static const std::string kName = "example.com/observed";

  const std::shared_ptr<StatusStore> store_ = std::make_shared<StatusStore>(NodeStatus{});
  const std::shared_ptr<ResourceObserver> observer_ = store_->AddResource(kName);
};

/// Returns an observer whose events no test checks.
inline std::shared_ptr<ResourceObserver> MakeObserver() { return ObservedResource().observer(); }

}  // namespace patchbay::test
