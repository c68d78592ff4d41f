#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "inventory/shared_nodes.h"
#include "os/loop.h"
#include "os/thread_pool.h"
#include "status/observer.h"

namespace patchbay {

/// Detects device nodes that several resources list, logs each pair of resources once, and notifies
/// their observers. Belongs to the loop thread; the comparison runs in the pool.
class SharedDeviceMonitor {
 public:
  /// A resource at this moment.
  struct Participant {
    std::string resource;
    std::shared_ptr<const Snapshot> snapshot;  ///< may be null
    std::shared_ptr<ResourceObserver> observer;
  };
  using Participants = std::vector<Participant>;

  SharedDeviceMonitor(ThreadPool& pool, Log& log, std::function<Participants()> participants)
      : pool_(pool), log_(log), participants_(std::move(participants)) {}

  /// Compares soon; call it when snapshots or resources have changed.
  void Compare();

 private:
  void OnCompared(const Participants& participants, const SharedNodes& shared);

  ThreadPool& pool_;
  Log& log_;
  const std::function<Participants()> participants_;
  bool comparing_ = false;
  bool compare_again_ = false;
  std::set<std::pair<std::string, std::string>> known_;  ///< to share
  Lifetime lifetime_;
};

}  // namespace patchbay
