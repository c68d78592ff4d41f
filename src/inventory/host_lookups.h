#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "inventory/allocation_host.h"
#include "os/thread_pool.h"

namespace patchbay {

/// The threads on which one resource looks up paths that are not in the cache of the kernel. A file
/// system that hangs delays only the Allocate calls of this resource, each by at most `limit`.
/// Thread-safe.
class HostLookups {
 public:
  static constexpr std::chrono::seconds kLimit{5};

  explicit HostLookups(AllocationHost host, std::chrono::milliseconds limit = kLimit);

  /// Calls `work` on a thread where it can hang, and then `then`. If the limit passes, calls
  /// `on_late` with an error message instead. Exactly one of the two is called, on any thread.
  /// ThreadPool::Job documents what they can access.
  void Run(std::function<void(const AllocationContext&)> work, std::function<void()> then,
           std::function<void(std::string why)> on_late);

  const AllocationHost& host() const { return host_; }

 private:
  class Paths;

  const AllocationHost host_;
  const std::chrono::milliseconds limit_;
  const std::shared_ptr<Paths> paths_;
  ThreadPool pool_;
};

}  // namespace patchbay
