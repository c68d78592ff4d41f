// Each stream keeps only the newest snapshot that it has not sent, so a slow reader skips lists and
// needs no queue. A write starts when none is in progress, and the end of a write starts the next
// one. A stream deletes itself in OnDone, the last event of its call.

#include "kubelet/list_streams.h"

#include <chrono>

#include "base/format.h"
#include "kubelet/list_bytes.h"
#include "rpc/messages.h"

namespace patchbay {

/// One stream, which deletes itself in OnDone. Writes and Finish are called with the mutex locked:
/// a call allows neither concurrent writes nor a write after Finish.
class ListStreams::Stream final : public ServerCall::Events {
 public:
  Stream(ListStreams& owner, ServerCall& call) : owner_(owner), call_(call) {
    call_.SetEvents(*this);
  }

  void Offer(const std::shared_ptr<const Snapshot>& snapshot, bool is_last = false) {
    const std::lock_guard lock(mutex_);
    is_last_ = is_last_ || is_last;
    if (snapshot == nullptr || (newest_ && snapshot->generation < newest_->generation)) return;
    newest_ = snapshot;
    unsent_ = true;
    WriteIfIdle();
  }

  void Close() { FinishOnce(grpc::Status::OK); }

  void OnWritten(bool ok) override {
    bool is_over = false;
    {
      const std::lock_guard lock(mutex_);
      writing_ = false;
      if (ok) WriteIfIdle();
      is_over = is_last_ && !writing_;
    }
    if (ok) owner_.observer_.OnListSent();
    if (ok && is_over) {
      Close();
    } else if (!ok) {
      FinishOnce(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the stream was interrupted"));
    }
  }

  void OnCancel() override { FinishOnce(grpc::Status::CANCELLED); }

  void OnDone() override {
    const auto lasted = std::chrono::steady_clock::now() - opened_;
    owner_.observer_.OnRpc(Rpc::kListAndWatch, ended_by_us_ ? "OK" : "CANCELLED", lasted);
    owner_.Remove(this);
    delete this;
  }

 private:
  void WriteIfIdle() {
    if (writing_ || finished_ || !unsent_) return;
    unsent_ = false;
    writing_ = true;
    call_.Write(ToBuffer(ListBytes(*newest_)));
  }

  void FinishOnce(const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    finished_ = true;
    ended_by_us_ = status.ok();
    call_.Finish(status);
  }

  ListStreams& owner_;
  ServerCall& call_;
  const std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::shared_ptr<const Snapshot> newest_;
  bool unsent_ = false;
  bool writing_ = false;
  bool is_last_ = false;  ///< the unsent list is the last one
  bool finished_ = false;
  bool ended_by_us_ = false;
};

void ListStreams::Open(ServerCall& call, std::shared_ptr<const Snapshot> first) {
  Stream* stream = nullptr;
  bool closed = false;
  {
    const std::lock_guard lock(mutex_);
    if (streams_.size() < kMaxStreams) {
      stream = new Stream(*this, call);  // deletes itself in OnDone
      streams_.insert(stream);
      if (first_ == nullptr) first_ = stream;
      closed = closed_;
      // Lists that were offered after `first` was read were not sent on this new stream.
      if (offered_ && (first == nullptr || first->generation < offered_->generation)) {
        first = offered_;
      }
      on_change_(static_cast<int>(streams_.size()), first_ended_);
    }
  }
  if (stream == nullptr) {
    const std::string reason = Format(
        "too many streams are open on this socket ({}); the kubelet needs one, so check which "
        "programs on the node opened the others",
        kMaxStreams);
    on_refused_(reason);
    observer_.OnRpc(Rpc::kListAndWatch, "RESOURCE_EXHAUSTED", {});
    return Refuse(call, {grpc::StatusCode::RESOURCE_EXHAUSTED, reason});
  }
  if (closed) {
    stream->Close();
  } else {
    stream->Offer(first);
  }
}

void ListStreams::Offer(const std::shared_ptr<const Snapshot>& snapshot) {
  const std::lock_guard lock(mutex_);
  if (!offered_ || offered_->generation <= snapshot->generation) offered_ = snapshot;
  for (Stream* stream : streams_) stream->Offer(snapshot);
}

void ListStreams::CloseAfter(const std::shared_ptr<const Snapshot>& last) {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (Stream* stream : streams_) stream->Offer(last, /*is_last=*/true);
}

void ListStreams::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (Stream* stream : streams_) stream->Close();
}

void ListStreams::Remove(Stream* stream) {
  const std::lock_guard lock(mutex_);
  streams_.erase(stream);
  first_ended_ = first_ended_ || stream == first_;
  on_change_(static_cast<int>(streams_.size()), first_ended_);
}

}  // namespace patchbay
