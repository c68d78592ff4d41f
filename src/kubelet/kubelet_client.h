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

/// Calls Register on `kubelet_socket` for `resource`, with the socket `endpoint` in the same
/// directory. Does not block.
///
/// A kubelet that starts deletes all plugin sockets before it listens. The call is not made to a
/// kubelet other than the current peer of `connection`, nor if the socket `endpoint` is missing
/// after connecting: the kubelet would dial it for ten seconds. A check of the directory detects
/// both.
PendingCall CallRegister(const std::shared_ptr<SharedConnection>& connection,
                         const std::string& kubelet_socket, const std::string& endpoint,
                         const ResourceSpec& resource, std::chrono::milliseconds deadline,
                         const CallDone& done);

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
