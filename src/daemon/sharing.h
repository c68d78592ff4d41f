#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "inventory/observer.h"
#include "inventory/shared_nodes.h"
#include "os/loop.h"
#include "os/thread_pool.h"

namespace patchbay {

/// Looks for nodes that several resources have, logs each pair of resources once, and tells their
/// observers. Belongs to the loop thread; the comparing is done in the pool.
class Sharing {
 public:
  /// A resource at this moment.
  struct Party {
    std::string resource;
    std::shared_ptr<const Snapshot> snapshot;  ///< may be null
    std::shared_ptr<ResourceObserver> observer;
  };
  using Parties = std::vector<Party>;

  Sharing(Loop& loop, ThreadPool& pool, Log& log, std::function<Parties()> parties)
      : loop_(loop), pool_(pool), log_(log), parties_(std::move(parties)) {}

  /// Snapshots or resources have changed: compares them soon.
  void Compare();

 private:
  void OnCompared(const Parties& parties, const SharedNodes& shared);

  Loop& loop_;
  ThreadPool& pool_;
  Log& log_;
  const std::function<Parties()> parties_;
  bool comparing_ = false;
  bool compare_again_ = false;
  std::set<std::pair<std::string, std::string>> known_;  ///< to share
  Lifetime lifetime_;
};

}  // namespace patchbay
