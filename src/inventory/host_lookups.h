#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "inventory/allocation_host.h"
#include "os/threads.h"

namespace patchbay {

/// The threads on which one resource looks up paths that are not in the cache of the kernel. A file
/// system that hangs delays only the Allocate calls of this resource, each by at most `limit`.
/// Thread-safe.
class HostLookups {
 public:
  static constexpr std::chrono::seconds kLimit{5};
  /// The maximum number of lookups that hang: that have not returned within a second.
  static constexpr std::size_t kMaxHanging = 8;

  explicit HostLookups(AllocationHost host, std::chrono::milliseconds limit = kLimit);

  /// Calls `work` on a thread where it can hang, and then `then`. If the limit passes, or the work
  /// cannot start, calls `on_late` with an error message instead. Exactly one of the two is called,
  /// on any thread, unless the object is destroyed before. `work` can outlive it, and must access
  /// only what it owns; the others must not block.
  void Run(std::function<void(const AllocationContext&)> work, std::function<void()> then,
           std::function<void(std::string why)> on_late);

  const AllocationHost& host() const { return host_; }

 private:
  class Paths;

  const AllocationHost host_;
  const std::chrono::milliseconds limit_;
  const std::shared_ptr<Paths> paths_;
  JobThreads threads_;
};

}  // namespace patchbay
