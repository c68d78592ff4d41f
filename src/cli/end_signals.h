#pragma once

#include <csignal>
#include <functional>
#include <initializer_list>
#include <utility>

#include "os/asio_loop.h"

namespace patchbay {

/// Signals as the wish to end, for the length of a command. `f` runs on the
/// loop, so not before it turns; a signal that came earlier waits. Afterwards they are ignored: a
/// second one, sent while the last things are put away, must not make a death of a good end.
class EndSignals {
 public:
  EndSignals(AsioLoop& loop, std::initializer_list<int> signals, std::function<void(int)> f)
      : subscription_(loop.OnSignals(signals, std::move(f))) {}
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
