#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"

namespace patchbay {

/// A call under way; dropping it cancels the call. `done` is called all the same.
class [[nodiscard]] PendingCall {
 public:
  PendingCall() = default;
  explicit PendingCall(std::function<void()> cancel) : cancel_(std::move(cancel)) {}
  PendingCall(PendingCall&& other) noexcept : cancel_(std::exchange(other.cancel_, nullptr)) {}
  PendingCall& operator=(PendingCall&& other) noexcept {
    std::swap(cancel_, other.cancel_);
    return *this;
  }
  ~PendingCall() {
    if (cancel_) cancel_();
  }

 private:
  std::function<void()> cancel_;
};

/// Called once with the outcome, on a thread of gRPC: kUnavailable when nobody answered, kInvalid
/// for a refusal.
using CallDone = std::function<void(Status)>;

/// Asks the kubelet behind `kubelet_socket` to serve `resource` from the socket called `endpoint`
/// in its own directory. Returns at once. Each call has a connection of its own: a kept one would
/// carry the back-off of a kubelet that is gone to the one that came. No keepalive: the kubelet
/// answers pings more often than every five minutes with a disconnect.
PendingCall CallRegister(const std::string& kubelet_socket, const std::string& endpoint,
                         const std::string& resource, std::chrono::milliseconds deadline,
                         CallDone done);

/// Asks a plugin's own socket for its options, to see that it answers before the kubelet dials it.
PendingCall CallOwnServer(const std::string& socket, std::chrono::milliseconds deadline,
                          CallDone done);

}  // namespace patchbay
