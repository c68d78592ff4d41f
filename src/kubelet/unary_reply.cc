#include "kubelet/unary_reply.h"

#include "base/escape.h"

namespace patchbay {
namespace {

/// gRPC sends the text in a header, and the client limits the size of headers.
constexpr std::size_t kMaxMessage = 1000;

grpc::StatusCode CodeOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid: return grpc::StatusCode::INVALID_ARGUMENT;
    case ErrorKind::kNotFound: return grpc::StatusCode::NOT_FOUND;
    case ErrorKind::kPrecondition: return grpc::StatusCode::FAILED_PRECONDITION;
    case ErrorKind::kUnavailable: return grpc::StatusCode::UNAVAILABLE;
  }
  return grpc::StatusCode::UNKNOWN;
}

/// Returns the label value of a code. Covers only the codes that this service returns.
std::string_view NameOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK: return "OK";
    case grpc::StatusCode::INVALID_ARGUMENT: return "INVALID_ARGUMENT";
    case grpc::StatusCode::NOT_FOUND: return "NOT_FOUND";
    case grpc::StatusCode::FAILED_PRECONDITION: return "FAILED_PRECONDITION";
    case grpc::StatusCode::UNAVAILABLE: return "UNAVAILABLE";
    case grpc::StatusCode::CANCELLED: return "CANCELLED";
    default: return "UNKNOWN";
  }
}

grpc::Status ToGrpc(const Status& status) {
  if (status) return grpc::Status::OK;
  // The text can contain input from outside, and appears in the status of a pod.
  return {CodeOf(status.error().kind), Truncate(status.error().message, kMaxMessage)};
}

}  // namespace

class UnaryReply::Reactor : public grpc::ServerUnaryReactor {
 public:
  explicit Reactor(std::shared_ptr<UnaryReply> reply) : reply_(std::move(reply)) {}
  void OnCancel() override { reply_->FinishOnce(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }

 private:
  const std::shared_ptr<UnaryReply> reply_;
};

std::shared_ptr<UnaryReply> UnaryReply::Begin(std::shared_ptr<ResourceObserver> observer, Rpc rpc,
                                              std::shared_ptr<PendingCalls> pending,
                                              std::string resource) {
  auto reply = std::make_shared<UnaryReply>(std::move(observer), rpc);
  if (pending) reply->entry_ = pending->Begin(std::move(resource), reply->start_);
  reply->pending_ = std::move(pending);
  reply->reactor_ = new Reactor(reply);  // deletes itself
  return reply;
}

UnaryReply::UnaryReply(std::shared_ptr<ResourceObserver> observer, Rpc rpc)
    : observer_(std::move(observer)), rpc_(rpc) {}

bool UnaryReply::Finish(const Status& status, const std::function<void()>& before) {
  return FinishOnce(ToGrpc(status), before);
}

bool UnaryReply::FinishOnce(const grpc::Status& status, const std::function<void()>& before) {
  if (finished_.exchange(true)) return false;
  if (before) before();
  if (pending_) pending_->End(entry_);
  observer_->OnRpc(rpc_, NameOf(status.error_code()), std::chrono::steady_clock::now() - start_);
  reactor_->Finish(status);
  return true;
}

}  // namespace patchbay
