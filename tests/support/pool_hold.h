#pragma once

#include <future>

#include "os/thread_pool.h"

namespace patchbay::test {

/// Occupies one place of a pool while it exists.
class PoolHold {
 public:
  explicit PoolHold(ThreadPool& pool) {
    pool.Run([until = ended_.get_future().share()] { until.wait(); });
  }
  ~PoolHold() { ended_.set_value(); }
  PoolHold(const PoolHold&) = delete;
  PoolHold& operator=(const PoolHold&) = delete;

 private:
  std::promise<void> ended_;
};

}  // namespace patchbay::test
