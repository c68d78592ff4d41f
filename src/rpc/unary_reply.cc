#include "rpc/unary_reply.h"

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

grpc::ByteBuffer EmptyMessage() {
  const grpc::Slice nothing;
  return {&nothing, 1};
}

}  // namespace

/// Keeps the reply until the last event of its call; deletes itself then.
class UnaryReply::CallEvents final : public ServerCall::Events {
 public:
  CallEvents(std::shared_ptr<UnaryReply> reply, std::function<void()> on_cancel)
      : reply_(std::move(reply)), on_cancel_(std::move(on_cancel)) {}
  void OnCancel() override {
    if (reply_->FinishOnce(grpc::Status::CANCELLED) && on_cancel_) on_cancel_();
  }
  void OnDone() override { delete this; }

 private:
  const std::shared_ptr<UnaryReply> reply_;
  const std::function<void()> on_cancel_;
};

std::shared_ptr<UnaryReply> UnaryReply::Begin(ServerCall& call, OnEnd on_end,
                                              std::shared_ptr<PendingCalls> pending,
                                              std::string subject,
                                              std::function<void()> on_cancel) {
  auto reply = std::make_shared<UnaryReply>(call, std::move(on_end));
  if (pending) reply->entry_ = pending->Begin(std::move(subject), reply->start_);
  reply->pending_ = std::move(pending);
  call.SetEvents(*new CallEvents(reply, std::move(on_cancel)));
  return reply;
}

bool UnaryReply::Finish(const Status& status, const Response& response) {
  return FinishOnce(ToGrpc(status), response);
}

bool UnaryReply::FinishOnce(const grpc::Status& status, const Response& response) {
  if (finished_.exchange(true)) return false;
  const grpc::ByteBuffer bytes = response ? response() : EmptyMessage();
  if (pending_) pending_->End(entry_);
  on_end_(NameOf(status.error_code()), std::chrono::steady_clock::now() - start_);
  if (status.ok()) {
    call_.Finish(bytes);
  } else {
    call_.Finish(status);
  }
  return true;
}

}  // namespace patchbay
