#include "kubelet/plugin_service.h"

#include <chrono>
#include <vector>

#include "kubelet/messages.h"

namespace patchbay {
namespace {

/// gRPC carries the text in a header, whose size the other side limits.
constexpr std::size_t kLongestMessage = 1024;

grpc::StatusCode CodeOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid: return grpc::StatusCode::INVALID_ARGUMENT;
    case ErrorKind::kNotFound: return grpc::StatusCode::NOT_FOUND;
    case ErrorKind::kPrecondition: return grpc::StatusCode::FAILED_PRECONDITION;
    case ErrorKind::kUnavailable: return grpc::StatusCode::UNAVAILABLE;
  }
  return grpc::StatusCode::UNKNOWN;
}

/// The code as metrics name it; only those that CodeOf makes.
std::string_view NameOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK: return "OK";
    case grpc::StatusCode::INVALID_ARGUMENT: return "INVALID_ARGUMENT";
    case grpc::StatusCode::NOT_FOUND: return "NOT_FOUND";
    case grpc::StatusCode::FAILED_PRECONDITION: return "FAILED_PRECONDITION";
    case grpc::StatusCode::UNAVAILABLE: return "UNAVAILABLE";
    default: return "UNKNOWN";
  }
}

grpc::Status ToGrpc(const Error& error) {
  return {CodeOf(error.kind), error.message.substr(0, kLongestMessage)};
}

/// Answers a unary call with what `answer` returns, and has it counted and timed.
template <class Answer>
grpc::ServerUnaryReactor* Reply(grpc::CallbackServerContext* context, ResourceObserver& observer,
                                Rpc rpc, Answer answer) {
  const auto start = std::chrono::steady_clock::now();
  const grpc::Status status = answer();
  observer.OnRpc(rpc, NameOf(status.error_code()), std::chrono::steady_clock::now() - start);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

}  // namespace

v1beta1::DevicePluginOptions PluginOptions(const ResourceSpec& spec) {
  v1beta1::DevicePluginOptions options;
  options.set_get_preferred_allocation_available(spec.preferred_allocation != Preference::kNone);
  return options;
}

grpc::ServerUnaryReactor* PluginService::GetDevicePluginOptions(
    grpc::CallbackServerContext* context, const v1beta1::Empty*,
    v1beta1::DevicePluginOptions* response) {
  return Reply(context, *backend_.observer, Rpc::kGetDevicePluginOptions, [&] {
    // Whoever asks before the first look at the host is this process, to see whether it is heard.
    if (const auto snapshot = backend_.snapshot->Get()) *response = PluginOptions(*snapshot->spec);
    return grpc::Status::OK;
  });
}

grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* PluginService::ListAndWatch(
    grpc::CallbackServerContext*, const v1beta1::Empty*) {
  return streams_.Open(backend_.snapshot->Get());
}

grpc::ServerUnaryReactor* PluginService::GetPreferredAllocation(
    grpc::CallbackServerContext* context, const v1beta1::PreferredAllocationRequest* request,
    v1beta1::PreferredAllocationResponse* response) {
  return Reply(context, *backend_.observer, Rpc::kGetPreferredAllocation, [&] {
    const auto snapshot = backend_.snapshot->Get();
    for (const auto& container : request->container_requests()) {
      auto& preferred = *response->add_container_responses();
      if (snapshot == nullptr) continue;
      for (std::string& id : Prefer(*snapshot, FromMessage(container))) {
        preferred.add_device_ids(std::move(id));
      }
    }
    return grpc::Status::OK;
  });
}

grpc::ServerUnaryReactor* PluginService::Allocate(grpc::CallbackServerContext* context,
                                                  const v1beta1::AllocateRequest* request,
                                                  v1beta1::AllocateResponse* response) {
  return Reply(context, *backend_.observer, Rpc::kAllocate, [&] {
    grpc::Status status = AllocateAll(*request, *response);
    for (const auto& container : request->container_requests()) {
      backend_.observer->OnAllocation(status.ok(), container.devices_ids_size());
    }
    return status;
  });
}

grpc::Status PluginService::AllocateAll(const v1beta1::AllocateRequest& request,
                                        v1beta1::AllocateResponse& response) const {
  const auto snapshot = backend_.snapshot->Get();
  if (snapshot == nullptr) return {grpc::StatusCode::UNAVAILABLE, "no device was looked for yet"};
  for (const auto& container : request.container_requests()) {
    const std::vector<std::string> ids(container.devices_ids().begin(),
                                       container.devices_ids().end());
    auto answer = patchbay::Allocate(*snapshot, ids, backend_.allocation);
    if (!answer) {
      if (answer.error().kind != ErrorKind::kInvalid) backend_.on_stale_list();
      return ToGrpc(answer.error());
    }
    FillResponse(std::move(*answer), *response.add_container_responses());
  }
  return grpc::Status::OK;
}

grpc::ServerUnaryReactor* PluginService::PreStartContainer(grpc::CallbackServerContext* context,
                                                           const v1beta1::PreStartContainerRequest*,
                                                           v1beta1::PreStartContainerResponse*) {
  return Reply(context, *backend_.observer, Rpc::kPreStartContainer,
               [] { return grpc::Status::OK; });
}

}  // namespace patchbay
