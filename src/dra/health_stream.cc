// Each stream keeps only the newest list and whether it is sent, so a slow reader skips lists and
// needs no queue. A write starts when none is in progress, and the end of a write starts the next
// one. The time of a list is that of its write: the kubelet compares it with its clock. A stream
// deletes itself in OnDone, the last event of its call.

#include "dra/health_stream.h"

#include <chrono>
#include <optional>
#include <utility>

#include "base/format.h"
#include "drahealth_v1.pb.h"
#include "drahealth_v1alpha1.pb.h"
#include "rpc/messages.h"

namespace patchbay {
namespace {

/// The numbers of the API, which are the same in both versions.
int HealthNumber(const std::optional<Health>& health) {
  if (!health) return ::v1::UNKNOWN;
  return *health == Health::kHealthy ? ::v1::HEALTHY : ::v1::UNHEALTHY;
}

/// Returns the message of a list that is sent at `now`.
template <class Response>
Response HealthResponse(const HealthList& list, std::chrono::system_clock::time_point now) {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  Response response;
  response.mutable_devices()->Reserve(static_cast<int>(list.size()));
  for (const auto& pool : list.pools) {
    for (const PublishedHealth& device : pool->devices) {
      auto& out = *response.add_devices();
      out.mutable_device()->set_pool_name(pool->pool);
      out.mutable_device()->set_device_name(device.device);
      out.set_health(static_cast<decltype(out.health())>(HealthNumber(device.health)));
      out.set_last_updated_time(seconds);
      out.set_message(device.message);
    }
  }
  return response;
}

}  // namespace

/// A stream of either version.
class HealthStreams::Stream {
 public:
  virtual ~Stream() = default;
  virtual void Offer(std::shared_ptr<const HealthList> list) = 0;
  virtual void Resend() = 0;
  virtual void Close() = 0;
};

/// One stream, which deletes itself in OnDone. Writes and Finish are called with the mutex locked:
/// a call allows neither concurrent writes nor a write after Finish.
template <class Response>
class HealthStreams::StreamOf final : public Stream, public ServerCall::Events {
 public:
  StreamOf(HealthStreams& owner, ServerCall& call) : owner_(owner), call_(call) {
    call_.SetEvents(*this);
  }

  void Offer(std::shared_ptr<const HealthList> list) override {
    const std::lock_guard lock(mutex_);
    newest_ = std::move(list);
    unsent_ = true;
    WriteIfIdle();
  }

  void Resend() override {
    const std::lock_guard lock(mutex_);
    unsent_ = true;
    WriteIfIdle();
  }

  void Close() override { FinishOnce(grpc::Status::OK); }

  void OnWritten(bool ok) override {
    {
      const std::lock_guard lock(mutex_);
      writing_ = false;
      if (ok) WriteIfIdle();
    }
    if (!ok) FinishOnce({grpc::StatusCode::UNAVAILABLE, "the stream was interrupted"});
  }

  void OnCancel() override { FinishOnce(grpc::Status::CANCELLED); }

  void OnDone() override {
    owner_.observer_->OnRpc(DriverRpc::kNodeWatchResources, ended_by_us_ ? "OK" : "CANCELLED",
                            std::chrono::steady_clock::now() - opened_);
    owner_.Remove(this);
    delete this;
  }

 private:
  void WriteIfIdle() {
    if (writing_ || finished_ || !unsent_ || newest_ == nullptr) return;
    unsent_ = false;
    writing_ = true;
    call_.Write(Serialize(HealthResponse<Response>(*newest_, std::chrono::system_clock::now())));
  }

  void FinishOnce(const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    finished_ = true;
    ended_by_us_ = status.ok();
    call_.Finish(status);
  }

  HealthStreams& owner_;
  ServerCall& call_;
  const std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::shared_ptr<const HealthList> newest_;
  bool unsent_ = false;
  bool writing_ = false;
  bool finished_ = false;
  bool ended_by_us_ = false;
};

template <class Response>
void HealthStreams::Open(ServerCall& call) {
  const std::lock_guard lock(mutex_);
  if (streams_.size() >= kMaxHealthStreams) {
    observer_->OnRpc(DriverRpc::kNodeWatchResources, "RESOURCE_EXHAUSTED", {});
    return Refuse(call, {grpc::StatusCode::RESOURCE_EXHAUSTED,
                         Format("too many health streams are open on this socket ({}); the kubelet "
                                "needs one, so check which programs on the node opened the others",
                                kMaxHealthStreams)});
  }
  auto* stream = new StreamOf<Response>(*this, call);  // deletes itself in OnDone
  streams_.insert(stream);
  observer_->OnHealthStreams(static_cast<int>(streams_.size()));
  if (closed_) {
    stream->Close();
  } else if (offered_) {
    stream->Offer(offered_);
  }
}
template void HealthStreams::Open<::v1::NodeWatchResourcesResponse>(ServerCall&);
template void HealthStreams::Open<::v1alpha1::NodeWatchResourcesResponse>(ServerCall&);

void HealthStreams::Offer(std::shared_ptr<const HealthList> list) {
  const std::lock_guard lock(mutex_);
  offered_ = std::move(list);
  for (Stream* stream : streams_) stream->Offer(offered_);
}

void HealthStreams::Resend() {
  const std::lock_guard lock(mutex_);
  for (Stream* stream : streams_) stream->Resend();
}

void HealthStreams::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (Stream* stream : streams_) stream->Close();
}

void HealthStreams::Remove(Stream* stream) {
  const std::lock_guard lock(mutex_);
  streams_.erase(stream);
  observer_->OnHealthStreams(static_cast<int>(streams_.size()));
}

}  // namespace patchbay
