#pragma once

#include <grpcpp/channel.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
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
/// kUnavailable if there was no response, kInvalid if the call was rejected, kPrecondition if it
/// was not made, see CallRegister.
using CallDone = std::function<void(Status)>;

/// A connection to the kubelet that concurrent calls share: with many resources, one connection per
/// call costs both sides more than the calls. It closes with the last call that uses it. A
/// connection that failed, or that leads to a previous peer, is not used for further calls. No
/// keepalive: the kubelet answers pings more often than every five minutes with a disconnect.
/// Thread-safe.
class SharedConnection {
 public:
  /// The maximum number of calls per connection. Their requests fit into a socket buffer, so that
  /// the calls end at their deadline even if the peer reads nothing: gRPC does not end a call while
  /// a write to its connection is blocked.
  static constexpr int kMaxCalls = 32;

  /// Calls that start from now on are for the kubelet whose socket has this SocketIdentity.
  void SetPeer(std::string peer);
  std::string peer() const;
  /// Returns a channel to `peer`, which listens on `socket`. Fails with kUnavailable if no process
  /// listens there, and with kPrecondition if another process does. Waits while another call
  /// connects, to share its connection, but at most 250 ms. Looks up paths, which can hang.
  Result<std::shared_ptr<grpc::Channel>> Get(const std::string& socket, const std::string& peer);
  /// A call on the channel failed.
  void Drop(const std::shared_ptr<grpc::Channel>& channel);

 private:
  std::shared_ptr<grpc::Channel> Share(const std::string& peer);

  mutable std::mutex mutex_;
  std::condition_variable dialed_;
  bool is_dialing_ = false;
  std::string peer_;
  std::weak_ptr<grpc::Channel> channel_;  ///< to the peer
  int calls_ = 0;                         ///< started on this connection
};

/// Asks the kubelet behind `kubelet_socket` to serve `resource` from the socket called `endpoint`
/// in its own directory. Returns at once.
///
/// A kubelet that starts deletes all plugin sockets before it listens. The call is not made to a
/// kubelet other than the current peer of `connection`, nor if the socket `endpoint` is missing
/// after connecting: the kubelet would dial it for ten seconds. A check of the directory detects
/// both.
PendingCall CallRegister(const std::shared_ptr<SharedConnection>& connection,
                         const std::string& kubelet_socket, const std::string& endpoint,
                         const ResourceSpec& resource, std::chrono::milliseconds deadline,
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
