#pragma once

#include <memory>
#include <vector>

#include "os/loop.h"

namespace boost::asio {
class io_context;
}

namespace patchbay {

/// The Loop of the running program, based on Boost.Asio.
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

  /// Calls `f` with the signal number whenever the process receives one of `signals`.
  Subscription OnSignals(const std::vector<int>& signals, std::function<void(int)> f);

  /// Returns the context for sockets of Asio, whose handlers run on the loop thread.
  boost::asio::io_context& context();

  /// Makes the calling thread the loop thread until Stop. Can be called again afterwards.
  void Run();
  /// Makes Run return. Can be called on any thread.
  void Stop();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace patchbay
