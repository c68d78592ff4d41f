#pragma once

#include <memory>
#include <vector>

#include "os/loop.h"

namespace patchbay {

/// The Loop of the running program, on Boost.Asio.
class AsioLoop : public Loop {
 public:
  AsioLoop();
  ~AsioLoop() override;
  AsioLoop(const AsioLoop&) = delete;
  AsioLoop& operator=(const AsioLoop&) = delete;

  Time Now() const override;
  void Post(std::function<void()> f) override;
  Subscription After(Duration delay, std::function<void()> f) override;
  Subscription OnReadable(int fd, std::function<void()> f) override;

  /// Calls `f` with the number of each of these signals that the process receives.
  Subscription OnSignals(const std::vector<int>& signals, std::function<void(int)> f);

  /// Makes the calling thread the loop thread until Stop; again after that.
  void Run();
  /// Ends Run; from any thread.
  void Stop();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace patchbay
