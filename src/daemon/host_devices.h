#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>

#include "os/host_root.h"
#include "os/loop.h"
#include "os/thread_pool.h"
#include "suggest/suggest.h"

namespace patchbay {

/// The devices of the host with the entries for them, for the page: read in the background while
/// a client asks for them, and at most once in kMaxAge.
///
/// Belongs to the loop thread, except Json. `pool` must outlive it.
class HostDevices {
 public:
  static constexpr std::chrono::seconds kMaxAge{10};

  /// `served` returns what the resources list; called on the loop.
  HostDevices(Loop& loop, ThreadPool& pool, HostRoot host, std::function<ServedNodes()> served);

  /// Returns what was read last, see docs/api.md; `read_at` is null until then. Begins to read the
  /// host if that is old. Any thread; does not wait.
  std::string Json();

 private:
  void Read();

  Loop& loop_;
  ThreadPool& pool_;
  const HostRoot host_;
  const std::function<ServedNodes()> served_;
  Subscription expiry_;      ///< of what was read
  std::mutex mutex_;         ///< guards the following
  bool is_current_ = false;  ///< read less than kMaxAge ago, or being read
  std::string json_;
  Lifetime lifetime_;
};

}  // namespace patchbay
