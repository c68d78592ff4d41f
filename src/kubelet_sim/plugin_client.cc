// The options of the channel are those of grpc-go where they differ from gRPC C++. A generic stub
// reads the stream as raw bytes, since the reader of a typed stub does not distinguish a message
// that does not parse from the end. gRPC cannot cancel a wait for a connection, so Close is checked
// in intervals.

#include "kubelet_sim/plugin_client.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "base/format.h"

namespace patchbay {
namespace {

/// The default of grpc-go, which the kubelet does not change.
constexpr int kMaxReceive = 4194304;
/// The interval to check for Close: gRPC cannot cancel a wait for a connection.
constexpr std::chrono::milliseconds kCloseNoticed{50};

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& path, KubeletAuthority authority,
                                           FlowCredit credit) {
  grpc::ChannelArguments arguments;
  // Dials must not share a back-off, and streams must not share a connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY,
                      authority == KubeletAuthority::kSocketPath ? path : "localhost");
  arguments.SetMaxReceiveMessageSize(kMaxReceive);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (credit == FlowCredit::kLeast) {
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1);
  }
  return grpc::CreateCustomChannel("unix:" + path, grpc::InsecureChannelCredentials(), arguments);
}

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

std::vector<SimDevice> ToDevices(const v1beta1::ListAndWatchResponse& message) {
  std::vector<SimDevice> devices;
  devices.reserve(static_cast<std::size_t>(message.devices_size()));
  for (const v1beta1::Device& device : message.devices()) {
    SimDevice& added = devices.emplace_back(SimDevice{device.id(), device.health(), {}});
    for (const v1beta1::NUMANode& node : device.topology().nodes()) {
      added.numa_nodes.push_back(node.id());
    }
  }
  return devices;
}

/// A stream of raw messages. The reader of a stub does not distinguish a message that does not
/// parse, after which the stream is still open, from the end of the stream. Functions block until
/// they are done or the call is cancelled.
class RawStream {
 public:
  RawStream(const std::shared_ptr<grpc::Channel>& channel, grpc::ClientContext& context,
            const std::string& method)
      : stub_(channel), stream_(stub_.PrepareCall(&context, method, &queue_)) {}
  ~RawStream() {
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) continue;
  }
  RawStream(const RawStream&) = delete;
  RawStream& operator=(const RawStream&) = delete;

  /// Sends an empty message as the only request.
  bool Open() {
    const grpc::Slice nothing;
    return Do([&] { stream_->StartCall(this); }) &&
           Do([&] { stream_->WriteLast(grpc::ByteBuffer(&nothing, 1), {}, this); });
  }
  bool Read(grpc::ByteBuffer& message) {
    return Do([&] { stream_->Read(&message, this); });
  }
  grpc::Status Finish() {
    grpc::Status status;
    Do([&] { stream_->Finish(&status, this); });
    return status;
  }

 private:
  template <class Operation>
  bool Do(Operation operation) {
    operation();
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::CompletionQueue queue_;
  grpc::GenericStub stub_;
  const std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
};

}  // namespace

/// Registers a call for Close during its lifetime.
class PluginClient::Call {
 public:
  explicit Call(PluginClient& client) : client_(client) {
    const std::lock_guard lock(client_.mutex_);
    client_.calls_.insert(&context_);
    if (client_.closed_) context_.TryCancel();
  }
  ~Call() {
    const std::lock_guard lock(client_.mutex_);
    client_.calls_.erase(&context_);
    if (client_.watch_ == &context_) client_.watch_ = nullptr;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  grpc::ClientContext& context() { return context_; }

 private:
  PluginClient& client_;
  grpc::ClientContext context_;
};

PluginClient::PluginClient(const std::string& path, KubeletAuthority authority, FlowCredit credit)
    : channel_(MakeChannel(path, authority, credit)),
      stub_(v1beta1::DevicePlugin::NewStub(channel_)) {}

Status PluginClient::Dial(std::chrono::milliseconds timeout) {
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

template <class Response, class Method>
Result<Response> PluginClient::Unary(Method method) {
  Call call(*this);
  Response response;
  const grpc::Status status = method(&call.context(), &response);
  if (status.ok()) return response;
  return Fail(ErrorKind::kUnavailable, format("rpc error: code = {} desc = {}",
                                              GoName(status.error_code()), status.error_message()));
}

Result<SimPluginOptions> PluginClient::GetOptions() {
  const auto options =
      TRY(Unary<v1beta1::DevicePluginOptions>([this](auto* context, auto* response) {
        return stub_->GetDevicePluginOptions(context, {}, response);
      }));
  return SimPluginOptions{options.pre_start_required(),
                          options.get_preferred_allocation_available()};
}

Result<v1beta1::PreferredAllocationResponse> PluginClient::GetPreferred(
    const v1beta1::PreferredAllocationRequest& request) {
  return Unary<v1beta1::PreferredAllocationResponse>([&](auto* context, auto* response) {
    return stub_->GetPreferredAllocation(context, request, response);
  });
}

Result<v1beta1::AllocateResponse> PluginClient::Allocate(const v1beta1::AllocateRequest& request) {
  return Unary<v1beta1::AllocateResponse>(
      [&](auto* context, auto* response) { return stub_->Allocate(context, request, response); });
}

Result<v1beta1::PreStartContainerResponse> PluginClient::PreStart(
    const v1beta1::PreStartContainerRequest& request, std::chrono::milliseconds deadline) {
  return Unary<v1beta1::PreStartContainerResponse>([&](auto* context, auto* response) {
    context->set_deadline(std::chrono::system_clock::now() + deadline);
    return stub_->PreStartContainer(context, request, response);
  });
}

std::string PluginClient::Watch(const OnList& on_list) {
  Call call(*this);
  {
    const std::lock_guard lock(mutex_);
    watch_ = &call.context();
    if (watch_cancelled_) watch_->TryCancel();
  }
  RawStream stream(channel_, call.context(), "/v1beta1.DevicePlugin/ListAndWatch");
  bool open = stream.Open();
  while (open && WaitToRead()) {
    grpc::ByteBuffer bytes;
    v1beta1::ListAndWatchResponse message;
    if (!stream.Read(bytes)) break;
    if (!grpc::GenericDeserialize<grpc::ProtoBufferReader, v1beta1::ListAndWatchResponse>(&bytes,
                                                                                          &message)
             .ok()) {
      call.context().TryCancel();
      (void)stream.Finish();
      return "Internal: grpc: error unmarshalling request";
    }
    on_list(ToDevices(message));
  }
  const grpc::Status status = stream.Finish();
  return format("{}: {}", GoName(status.error_code()), status.error_message());
}

bool PluginClient::WaitToRead() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return reading_ || closed_ || watch_cancelled_; });
  return !closed_ && !watch_cancelled_;
}

void PluginClient::CancelWatch() {
  const std::lock_guard lock(mutex_);
  watch_cancelled_ = true;
  if (watch_ != nullptr) watch_->TryCancel();
  changed_.notify_all();
}

void PluginClient::SetReading(bool reading) {
  const std::lock_guard lock(mutex_);
  reading_ = reading;
  changed_.notify_all();
}

void PluginClient::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (grpc::ClientContext* context : calls_) context->TryCancel();
  changed_.notify_all();
}

}  // namespace patchbay
