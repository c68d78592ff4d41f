#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "kubelet/calls.h"
#include "kubelet/pod_resources_poll.h"
#include "os/loop.h"

namespace patchbay {

struct PodResourcesPace {
  std::chrono::milliseconds period{10'000};
  std::chrono::milliseconds deadline{3'000};  ///< of a call
};

/// Asks the kubelet who holds which device, through its PodResources API: at once, every period
/// and when told to. The decisions are those of PodResourcesPoll; this is their hands.
///
/// While nobody answers the last holders stay in force, since unknown is not free. A socket that is
/// missing is looked for once a period. Each change of what is wrong is one line of the log.
///
/// Belongs to the loop thread; calls and the reading of answers have a thread of their own. The
/// destructor cancels a call under way and waits for its thread, which can hang: see TakeCall.
class PodResources {
 public:
  /// What its owner is told, on the loop, never from within a function called here.
  struct Events {
    /// At each answer, also one like the last. Comes before on_up.
    std::function<void(const ReportedHolders&)> on_holders;
    /// Whether the kubelet says who holds what; once that is known, and when it changes.
    std::function<void(bool)> on_up;
  };

  using Asked = std::function<void(bool answered)>;

  PodResources(Loop& loop, Log& log, std::string socket, Events events,
               PodResourcesPace pace = PodResourcesPace());
  PodResources(const PodResources&) = delete;
  PodResources& operator=(const PodResources&) = delete;

  /// What is to be called when something was given, from any thread, also when this is gone: has
  /// the kubelet asked about a second from then. Until it is asked, further calls do nothing, so
  /// that the loop is not woken for each container that starts.
  std::function<void()> PollSoon();

  /// Asks now, and then calls `done` with whether the kubelet has said who holds what at a moment
  /// after this call; on_holders comes before it.
  void AskNow(Asked done);

  /// Returns the pending call and stops polling. Destroy the call on a thread that may block.
  PendingCall TakeCall();

 private:
  void Schedule();
  void Ask();
  void OnAnswer(const PodResourcesAnswer& answer);
  void Tell(std::vector<Asked>& askers, bool answered);
  void TakeIn(const ReportedHolders& reported);
  void Report(const PodResourcesAnswer& answer);

  Loop& loop_;
  Log& log_;
  const std::string socket_;
  const Events events_;
  const PodResourcesPace pace_;
  PodResourcesPoll poll_;
  /// PollSoon was called since the kubelet was last asked.
  const std::shared_ptr<std::atomic<bool>> wished_ = std::make_shared<std::atomic<bool>>(false);
  bool complete_ = true;       ///< the last answer named everybody
  std::vector<Asked> asking_;  ///< of the call under way
  std::vector<Asked> to_ask_;  ///< of the next one
  Subscription timer_;
  PendingCall call_;
  Lifetime lifetime_;
};

}  // namespace patchbay
