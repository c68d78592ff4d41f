#pragma once

#include <memory>
#include <mutex>

#include "model/snapshot.h"

namespace patchbay {

/// Holds the newest snapshot of a resource. The loop thread sets it; any thread reads it and may
/// keep the result, so that no reader sees half an update.
class SnapshotCell {
 public:
  void Set(std::shared_ptr<const Snapshot> snapshot) {
    const std::lock_guard lock(mutex_);
    snapshot_.swap(snapshot);
  }
  /// Null before the first Set.
  std::shared_ptr<const Snapshot> Get() const {
    const std::lock_guard lock(mutex_);
    return snapshot_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> snapshot_;
};

}  // namespace patchbay
