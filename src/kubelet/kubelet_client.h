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

/// A pending call on its own thread. The destructor cancels it and waits for the thread. `done` is
/// not called after that.
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

  /// Cancels the call without waiting for its end. From any thread.
  void Cancel() const {
    if (thread_.joinable()) cancel_();
  }

 private:
  std::function<void()> cancel_;
  std::thread thread_;
};

/// Called once with the outcome, on the thread of the call, or immediately without a thread:
/// kUnavailable if there was no response, kInvalid if the call was rejected, kPrecondition if it
/// was not made, see CallRegister.
using CallDone = std::function<void(Status)>;

/// Calls Register on `kubelet_socket` for `resource`, with the socket `endpoint` in the same
/// directory. Does not block.
///
/// A kubelet that starts deletes all plugin sockets before it listens. The call is not made to a
/// kubelet whose socket has another SocketIdentity than `kubelet`, nor if the socket `endpoint` is
/// missing after connecting: the kubelet would dial it for ten seconds. A check of the directory
/// detects both.
PendingCall CallRegister(const std::string& kubelet_socket, const std::string& kubelet,
                         const std::string& endpoint, const ResourceSpec& resource,
                         std::chrono::milliseconds deadline, const CallDone& done);

/// The result of CallList.
struct PodResourcesResult {
  PollOutcome outcome = PollOutcome::kNoResponse;
  std::string reason;  ///< the error message of gRPC or the kubelet; can be empty
  std::shared_ptr<const ReportedHolders> reported;  ///< null unless the outcome is kAnswered
};

/// Calls List of the PodResources API on `socket`, with a response of at most 16 MiB. Does not
/// block; `done` is called on the thread of the call.
PendingCall CallPodResources(const std::string& socket, PodResourcesVersion version,
                             std::chrono::milliseconds deadline,
                             const std::function<void(PodResourcesResult)>& done);

}  // namespace patchbay
