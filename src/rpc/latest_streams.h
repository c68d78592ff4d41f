#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "rpc/messages.h"
#include "rpc/server_call.h"

namespace patchbay {

/// Maximum number of open streams of one server. The kubelet has one; the others are for debugging.
inline constexpr int kMaxStreams = 16;

/// The streams of one server that send the latest of a value, at most kMaxStreams. Each stream
/// sends at its own speed: a slow reader can miss values, but not the latest one, and needs memory
/// for only one message. Further streams are rejected with RESOURCE_EXHAUSTED; open ones remain, so
/// that the kubelet does not lose its stream.
///
/// Thread-safe. Close before destroying; it must outlive the server whose calls it answers.
template <class T>
class LatestStreams {
 public:
  /// Called from any thread; must not block.
  struct Events {
    /// The number of open streams changed, in order. `first_ended`: the first stream of this server
    /// has ended.
    std::function<void(int open, bool first_ended)> on_change;
    /// A stream ended, or was rejected, with this gRPC status in capitals.
    std::function<void(std::string_view code, std::chrono::nanoseconds lasted)> on_ended;
    std::function<void()> on_sent = [] {};  ///< a value was written
    std::function<void(const std::string& reason)> on_refused = [](const std::string&) {};
  };
  /// Returns whether `a` is older than `b`; nothing offered replaces a newer value.
  using IsOlder = bool (*)(const T& a, const T& b);
  using Render = grpc::ByteBuffer (*)(const T& value);

  explicit LatestStreams(
      Events events, IsOlder is_older = [](const T&, const T&) { return false; })
      : events_(std::move(events)), is_older_(is_older) {}
  /// The last streams may have ended on another thread just before: waits for it.
  ~LatestStreams() { const std::lock_guard lock(mutex_); }

  /// Opens a stream for a call. It immediately sends `first` or the last offered value, whichever
  /// is newer. Without either, it waits for the first Offer.
  void Open(ServerCall& call, Render render, std::shared_ptr<const T> first = nullptr) {
    const std::lock_guard lock(mutex_);
    if (streams_.size() >= kMaxStreams) {
      const std::string reason = Format(
          "too many streams are open on this socket ({}); the kubelet needs one, so check which "
          "programs on the node opened the others",
          kMaxStreams);
      events_.on_refused(reason);
      events_.on_ended("RESOURCE_EXHAUSTED", {});
      return Refuse(call, {grpc::StatusCode::RESOURCE_EXHAUSTED, reason});
    }
    auto* const stream = new Stream(*this, call, render);  // deletes itself in OnDone
    streams_.insert(stream);
    if (first_ == nullptr) first_ = stream;
    events_.on_change(static_cast<int>(streams_.size()), first_ended_);
    if (is_closed_) return stream->Finish(grpc::Status::OK);
    Keep(std::move(first));
    stream->Send();
  }

  /// Sends a value on every stream, unless it is older than the last one.
  void Offer(std::shared_ptr<const T> value) {
    const std::lock_guard lock(mutex_);
    if (!Keep(std::move(value))) return;
    for (Stream* stream : streams_) stream->Send();
  }

  /// Sends the last value again on every stream.
  void Resend() {
    const std::lock_guard lock(mutex_);
    for (Stream* stream : streams_) stream->Send();
  }

  /// Sends a last value on every stream, and ends each stream when it was written.
  void CloseAfter(std::shared_ptr<const T> last) {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    Keep(std::move(last));
    for (Stream* stream : streams_) stream->Send(/*is_last=*/true);
  }

  /// Ends all streams, and immediately ends streams that are opened later.
  void Close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    for (Stream* stream : streams_) stream->Finish(grpc::Status::OK);
  }

 private:
  /// One stream, which deletes itself in OnDone, the last event of its call. It needs no queue: a
  /// write starts when none is in progress, with the latest value, and the end of a write starts
  /// the next one. Send and Finish are called with the mutex locked: a call allows neither
  /// concurrent writes nor a write after Finish.
  class Stream final : public ServerCall::Events {
   public:
    Stream(LatestStreams& owner, ServerCall& call, Render render)
        : owner_(owner), call_(call), render_(render) {
      call_.SetEvents(*this);
    }

    void Send(bool is_last = false) {
      is_last_ = is_last_ || is_last;
      is_unsent_ = true;
      WriteIfIdle();
    }

    void Finish(const grpc::Status& status) {
      if (std::exchange(is_finished_, true)) return;
      is_ended_by_us_ = status.ok();
      call_.Finish(status);
    }

    void OnWritten(bool ok) override {
      if (ok) owner_.events_.on_sent();
      const std::lock_guard lock(owner_.mutex_);
      is_writing_ = false;
      if (!ok) return Finish({grpc::StatusCode::UNAVAILABLE, "the stream was interrupted"});
      WriteIfIdle();
      if (is_last_ && !is_writing_) Finish(grpc::Status::OK);
    }

    void OnCancel() override {
      const std::lock_guard lock(owner_.mutex_);
      Finish(grpc::Status::CANCELLED);
    }

    void OnDone() override {
      {
        const std::lock_guard lock(owner_.mutex_);
        owner_.events_.on_ended(is_ended_by_us_ ? "OK" : "CANCELLED",
                                std::chrono::steady_clock::now() - opened_);
        owner_.Remove(this);
      }
      delete this;
    }

   private:
    void WriteIfIdle() {
      if (is_writing_ || is_finished_ || !is_unsent_ || owner_.latest_ == nullptr) return;
      is_unsent_ = false;
      is_writing_ = true;
      call_.Write(render_(*owner_.latest_));
    }

    LatestStreams& owner_;
    ServerCall& call_;
    const Render render_;
    const std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
    bool is_unsent_ = false;
    bool is_writing_ = false;
    bool is_last_ = false;  ///< the unsent value is the last one
    bool is_finished_ = false;
    bool is_ended_by_us_ = false;
  };

  /// Returns whether the value is the latest one now.
  bool Keep(std::shared_ptr<const T> value) {
    if (value == nullptr || (latest_ != nullptr && is_older_(*value, *latest_))) return false;
    latest_ = std::move(value);
    return true;
  }

  void Remove(Stream* stream) {
    streams_.erase(stream);
    first_ended_ = first_ended_ || stream == first_;
    events_.on_change(static_cast<int>(streams_.size()), first_ended_);
  }

  const Events events_;
  const IsOlder is_older_;
  std::mutex mutex_;
  std::shared_ptr<const T> latest_;
  std::set<Stream*> streams_;
  const Stream* first_ = nullptr;
  bool first_ended_ = false;
  bool is_closed_ = false;
};

}  // namespace patchbay
