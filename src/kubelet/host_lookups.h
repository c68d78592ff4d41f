#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "inventory/allocation.h"
#include "os/thread_pool.h"

namespace patchbay {

/// The threads on which one resource looks up paths that the kernel does not have in memory, so
/// that a file system that does not answer holds up nothing but this resource's Allocate calls, and
/// each of them for no longer than `limit`. Thread-safe.
class HostLookups {
 public:
  static constexpr std::chrono::seconds kLimit{5};

  explicit HostLookups(AllocationHost host, std::chrono::milliseconds limit = kLimit);

  /// Calls `work` on a thread, where it may hang, with what it needs to look up paths; then `then`,
  /// or after the limit `on_late` with a text for the administrator. See ThreadPool::Job for what
  /// they may touch. One of the two is called, on another thread or on this one.
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
