#include "sim/kubelet/plugin_channel.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>

#include "base/format.h"

namespace patchbay {
namespace {

/// The default of grpc-go, which the kubelet does not change.
constexpr int kMaxReceive = 4194304;
/// The interval to check for Close: gRPC cannot cancel a wait for a connection.
constexpr std::chrono::milliseconds kCloseNoticed{50};

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& path, const std::string& authority,
                                           FlowCredit credit) {
  grpc::ChannelArguments arguments;
  // Dials must not share a back-off, and streams must not share a connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, authority);
  arguments.SetMaxReceiveMessageSize(kMaxReceive);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (credit == FlowCredit::kLeast) {
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1);
  }
  return grpc::CreateCustomChannel("unix:" + path, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

const char* GoName(grpc::StatusCode code) {
  switch (code) {
    case grpc::OK: return "OK";
    case grpc::CANCELLED: return "Canceled";
    case grpc::INVALID_ARGUMENT: return "InvalidArgument";
    case grpc::DEADLINE_EXCEEDED: return "DeadlineExceeded";
    case grpc::NOT_FOUND: return "NotFound";
    case grpc::ALREADY_EXISTS: return "AlreadyExists";
    case grpc::PERMISSION_DENIED: return "PermissionDenied";
    case grpc::RESOURCE_EXHAUSTED: return "ResourceExhausted";
    case grpc::FAILED_PRECONDITION: return "FailedPrecondition";
    case grpc::ABORTED: return "Aborted";
    case grpc::OUT_OF_RANGE: return "OutOfRange";
    case grpc::UNIMPLEMENTED: return "Unimplemented";
    case grpc::INTERNAL: return "Internal";
    case grpc::UNAVAILABLE: return "Unavailable";
    case grpc::DATA_LOSS: return "DataLoss";
    case grpc::UNAUTHENTICATED: return "Unauthenticated";
    default: return "Unknown";
  }
}

PluginChannel::Call::Call(PluginChannel& channel, Kind kind) : channel_(channel), kind_(kind) {
  const std::lock_guard lock(channel_.mutex_);
  channel_.calls_.insert(this);
  if (channel_.closed_) context_.TryCancel();
}

PluginChannel::Call::~Call() {
  const std::lock_guard lock(channel_.mutex_);
  channel_.calls_.erase(this);
}

PluginChannel::PluginChannel(const std::string& path, const std::string& authority,
                             FlowCredit credit)
    : channel_(MakeChannel(path, authority, credit)) {}

Status PluginChannel::Dial(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::system_clock::now() + timeout;
  auto state = channel_->GetState(true);
  while (state != GRPC_CHANNEL_READY) {
    const auto now = std::chrono::system_clock::now();
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return Fail(ErrorKind::kUnavailable, "context canceled");
    }
    if (now >= deadline) return Fail(ErrorKind::kUnavailable, "context deadline exceeded");
    channel_->WaitForStateChange(state, std::min(deadline, now + kCloseNoticed));
    state = channel_->GetState(true);
  }
  return {};
}

std::optional<grpc_connectivity_state> PluginChannel::AwaitChange(grpc_connectivity_state last) {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return std::nullopt;
    }
    const auto state = channel_->GetState(true);
    if (state != last) return state;
    channel_->WaitForStateChange(last, std::chrono::system_clock::now() + kCloseNoticed);
  }
}

Failure PluginChannel::GoFailure(const grpc::Status& status) {
  return Fail(ErrorKind::kUnavailable, Format("rpc error: code = {} desc = {}",
                                              GoName(status.error_code()), status.error_message()));
}

void PluginChannel::Cancel(Call::Kind kind) {
  const std::lock_guard lock(mutex_);
  for (Call* call : calls_) {
    if (call->kind_ == kind) call->context_.TryCancel();
  }
}

void PluginChannel::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (Call* call : calls_) call->context_.TryCancel();
}

}  // namespace patchbay
