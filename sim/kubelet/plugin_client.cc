// A generic stub reads the stream as raw bytes, since the reader of a typed stub does not
// distinguish a message that does not parse from the end. CancelWatch can come before the stream is
// registered with the channel, so Watch checks the flag afterwards.

#include "sim/kubelet/plugin_client.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <utility>

#include "base/format.h"

namespace patchbay {
namespace {

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

PluginClient::PluginClient(const std::string& path, KubeletAuthority authority, FlowCredit credit)
    : channel_(path, authority == KubeletAuthority::kSocketPath ? path : "localhost", credit),
      stub_(v1beta1::DevicePlugin::NewStub(channel_.channel())) {}

Result<SimPluginOptions> PluginClient::GetOptions() {
  const auto options =
      TRY(channel_.Unary<v1beta1::DevicePluginOptions>([this](auto* context, auto* response) {
        return stub_->GetDevicePluginOptions(context, {}, response);
      }));
  return SimPluginOptions{options.pre_start_required(),
                          options.get_preferred_allocation_available()};
}

Result<v1beta1::PreferredAllocationResponse> PluginClient::GetPreferred(
    const v1beta1::PreferredAllocationRequest& request) {
  return channel_.Unary<v1beta1::PreferredAllocationResponse>([&](auto* context, auto* response) {
    return stub_->GetPreferredAllocation(context, request, response);
  });
}

Result<v1beta1::AllocateResponse> PluginClient::Allocate(const v1beta1::AllocateRequest& request) {
  return channel_.Unary<v1beta1::AllocateResponse>(
      [&](auto* context, auto* response) { return stub_->Allocate(context, request, response); });
}

Result<v1beta1::PreStartContainerResponse> PluginClient::PreStart(
    const v1beta1::PreStartContainerRequest& request, std::chrono::milliseconds deadline) {
  return channel_.Unary<v1beta1::PreStartContainerResponse>(
      [&](auto* context, auto* response) {
        return stub_->PreStartContainer(context, request, response);
      },
      deadline);
}

std::string PluginClient::Watch(const OnList& on_list) {
  PluginChannel::Call call(channel_, PluginChannel::Call::Kind::kStream);
  {
    const std::lock_guard lock(mutex_);
    if (watch_cancelled_) call.context().TryCancel();
  }
  RawStream stream(channel_.channel(), call.context(), "/v1beta1.DevicePlugin/ListAndWatch");
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
  return Format("{}: {}", GoName(status.error_code()), status.error_message());
}

bool PluginClient::WaitToRead() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return reading_ || closed_ || watch_cancelled_; });
  return !closed_ && !watch_cancelled_;
}

void PluginClient::CancelWatch() {
  const std::lock_guard lock(mutex_);
  watch_cancelled_ = true;
  channel_.Cancel(PluginChannel::Call::Kind::kStream);
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
  channel_.Close();
  changed_.notify_all();
}

}  // namespace patchbay
