#pragma once

#include <csignal>
#include <functional>
#include <utility>

#include "os/asio_loop.h"

namespace patchbay {

/// SIGTERM, SIGINT and SIGHUP as the wish to end, for the length of a command. `f` runs on the
/// loop, so not before it turns; a signal that came earlier waits. Afterwards they are ignored: a
/// second one, sent while the last things are put away, must not make a death of a good end.
class EndSignals {
 public:
  EndSignals(AsioLoop& loop, std::function<void(int)> f)
      : subscription_(loop.OnSignals({SIGTERM, SIGINT, SIGHUP}, std::move(f))) {}
  ~EndSignals() {
    subscription_ = Subscription();
    std::signal(SIGTERM, SIG_IGN);
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGHUP, SIG_IGN);
  }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

 private:
  Subscription subscription_;
};

}  // namespace patchbay
