#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "kubelet/kubelet_client.h"
#include "kubelet/pod_resources_poll.h"
#include "os/loop.h"

namespace patchbay {

struct PodResourcesPace {
  std::chrono::milliseconds period{10'000};
  std::chrono::milliseconds deadline{3'000};  ///< of a call
};

/// Polls the kubelet's PodResources API for the devices that pods hold: at start, every period and
/// on request. PodResourcesPoll decides; this class performs the calls.
///
/// While the kubelet does not respond, the last reported holders stay in force: an unknown device
/// is not free. A missing socket is checked for once per period. Each change of the error is logged
/// once.
///
/// Belongs to the loop thread; each call and the parsing of its response run on a separate thread.
/// The destructor cancels a pending call and waits for its thread, which can hang: see TakeCall.
class PodResources {
 public:
  /// Called on the loop, never from within a function of this class.
  struct Events {
    /// After each response, even if nothing changed. Called before on_up.
    std::function<void(const ReportedHolders&)> on_holders;
    /// Called with whether the API responds: when that is first known, and when it changes.
    std::function<void(bool)> on_up;
  };

  using PendingPoll = std::function<void(bool answered)>;

  PodResources(Loop& loop, Log& log, std::string socket, Events events,
               PodResourcesPace pace = PodResourcesPace());
  PodResources(const PodResources&) = delete;
  PodResources& operator=(const PodResources&) = delete;

  /// Returns a function that requests a poll about one second later. Call it after an allocation,
  /// from any thread, even after this object is destroyed. Until the poll begins, further calls
  /// have no effect, so that the loop does not wake for each container that starts.
  std::function<void()> RequestPoll();

  /// Polls now, then calls `done` with whether the kubelet reported the holders as of a moment
  /// after this call; on_holders is called before.
  void PollNow(PendingPoll done);

  /// Returns the pending call and stops polling. Destroy the call on a thread that may block.
  PendingCall TakeCall();

 private:
  void Schedule();
  void Ask();
  void OnResult(const PodResourcesResult& answer);
  void Notify(std::vector<PendingPoll>& polls, bool answered);
  void PublishHolders(const ReportedHolders& reported);
  void Report(const PodResourcesResult& answer);

  Loop& loop_;
  Log& log_;
  const std::string socket_;
  const Events events_;
  const PodResourcesPace pace_;
  PodResourcesPoll poll_;
  /// A poll was requested since the last one began.
  const std::shared_ptr<std::atomic<bool>> requested_ = std::make_shared<std::atomic<bool>>(false);
  bool complete_ = true;                    ///< the last response was complete
  std::vector<PendingPoll> current_polls_;  ///< for the pending call
  std::vector<PendingPoll> next_polls_;     ///< for the next call
  Subscription timer_;
  PendingCall call_;
  Lifetime lifetime_;
};

}  // namespace patchbay
