#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/result.h"
#include "kubelet/pod_resources_message.h"
#include "kubelet/pod_resources_poll.h"
#include "model/spec.h"

namespace patchbay {

/// A call under way, on a thread of its own. The destructor cancels it and waits for the moment
/// that takes; after that `done` is not called any more.
class [[nodiscard]] PendingCall {
 public:
  PendingCall() = default;
  PendingCall(std::function<void()> cancel, std::thread thread)
      : cancel_(std::move(cancel)), thread_(std::move(thread)) {}
  PendingCall(PendingCall&&) = default;
  PendingCall& operator=(PendingCall&& other) noexcept {
    std::swap(cancel_, other.cancel_);
    std::swap(thread_, other.thread_);
    return *this;
  }
  ~PendingCall() {
    if (!thread_.joinable()) return;
    cancel_();
    thread_.join();
  }

  /// Has the call end soon, without waiting for it. From any thread.
  void Cancel() const {
    if (thread_.joinable()) cancel_();
  }

 private:
  std::function<void()> cancel_;
  std::thread thread_;
};

/// Called once with the outcome, on the thread of the call, or at once where there can be none:
/// kUnavailable when nobody answered, kInvalid for a refusal.
using CallDone = std::function<void(Status)>;

/// Asks the kubelet behind `kubelet_socket` to serve `resource` from the socket called `endpoint`
/// in its own directory. Returns at once. Each call has a connection of its own: a kept one would
/// carry the back-off of a kubelet that is gone to the one that came. No keepalive: the kubelet
/// answers pings more often than every five minutes with a disconnect.
PendingCall CallRegister(const std::string& kubelet_socket, const std::string& endpoint,
                         const ResourceSpec& resource, std::chrono::milliseconds deadline,
                         const CallDone& done);

/// Asks a plugin's own socket for its options, to see that it answers before the kubelet dials it.
PendingCall CallOwnServer(const std::string& socket, std::chrono::milliseconds deadline,
                          const CallDone& done);

/// What came of asking who holds which device.
struct PodResourcesAnswer {
  PollOutcome outcome = PollOutcome::kNoAnswer;
  std::string reason;                               ///< as gRPC or the kubelet put it; may be ""
  std::shared_ptr<const ReportedHolders> reported;  ///< null but for kAnswered
};

/// Asks the kubelet's PodResources API behind `socket` for a List of at most 16 MiB. Returns at
/// once; `done` is called on the thread of the call.
PendingCall CallPodResources(const std::string& socket, PodResourcesVersion version,
                             std::chrono::milliseconds deadline,
                             const std::function<void(PodResourcesAnswer)>& done);

}  // namespace patchbay
