// The messages of the versions of an API differ only in their types, so the calls are templates.

#include "sim/kubelet/dra_client.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "drahealth_v1.grpc.pb.h"
#include "drahealth_v1alpha1.grpc.pb.h"
#include "draplugin_v1.grpc.pb.h"
#include "draplugin_v1beta1.grpc.pb.h"
#include "pluginregistration.grpc.pb.h"

namespace patchbay {
namespace {

namespace dra = k8s::io::kubelet::pkg::apis::dra;

struct PluginV1 {
  using Service = dra::v1::DRAPlugin;
  using PrepareRequest = dra::v1::NodePrepareResourcesRequest;
  using PrepareResponse = dra::v1::NodePrepareResourcesResponse;
  using UnprepareRequest = dra::v1::NodeUnprepareResourcesRequest;
  using UnprepareResponse = dra::v1::NodeUnprepareResourcesResponse;
};
struct PluginV1beta1 {
  using Service = dra::v1beta1::DRAPlugin;
  using PrepareRequest = dra::v1beta1::NodePrepareResourcesRequest;
  using PrepareResponse = dra::v1beta1::NodePrepareResourcesResponse;
  using UnprepareRequest = dra::v1beta1::NodeUnprepareResourcesRequest;
  using UnprepareResponse = dra::v1beta1::NodeUnprepareResourcesResponse;
};

template <class Request>
Request RequestFor(const std::vector<SimClaim>& claims) {
  Request request;
  for (const SimClaim& claim : claims) {
    auto& added = *request.add_claims();
    added.set_namespace_(claim.namespace_name);
    added.set_name(claim.name);
    added.set_uid(claim.uid);
  }
  return request;
}

template <class Message>
SimPreparedDevice FromDevice(const Message& message) {
  SimPreparedDevice device{
      .requests = {message.request_names().begin(), message.request_names().end()},
      .pool = message.pool_name(),
      .device = message.device_name(),
      .cdi_devices = {message.cdi_device_ids().begin(), message.cdi_device_ids().end()}};
  if constexpr (requires { message.has_share_id(); }) {
    if (message.has_share_id()) device.share_id = message.share_id();
  }
  return device;
}

template <class Response>
SimClaimAnswers FromResponse(const Response& response) {
  SimClaimAnswers answers;
  for (const auto& entry : response.claims()) {
    const auto& message = entry.second;
    SimClaimAnswer& answer = answers[entry.first];
    answer.error = message.error();
    if constexpr (requires { message.devices(); }) {
      answer.devices.reserve(static_cast<std::size_t>(message.devices_size()));
      for (const auto& device : message.devices()) answer.devices.push_back(FromDevice(device));
    }
  }
  return answers;
}

template <class Api>
Result<SimClaimAnswers> Prepare(PluginChannel& channel, const std::vector<SimClaim>& claims,
                                std::chrono::milliseconds timeout) {
  const auto stub = Api::Service::NewStub(channel.channel());
  const auto request = RequestFor<typename Api::PrepareRequest>(claims);
  return FromResponse(TRY(channel.Unary<typename Api::PrepareResponse>(
      [&](auto* context, auto* response) {
        return stub->NodePrepareResources(context, request, response);
      },
      timeout)));
}

template <class Api>
Result<SimClaimAnswers> Unprepare(PluginChannel& channel, const std::vector<SimClaim>& claims,
                                  std::chrono::milliseconds timeout) {
  const auto stub = Api::Service::NewStub(channel.channel());
  const auto request = RequestFor<typename Api::UnprepareRequest>(claims);
  return FromResponse(TRY(channel.Unary<typename Api::UnprepareResponse>(
      [&](auto* context, auto* response) {
        return stub->NodeUnprepareResources(context, request, response);
      },
      timeout)));
}

/// The values of the API are the same in both versions.
SimHealth FromHealth(int health) {
  switch (health) {
    case ::v1::HEALTHY: return SimHealth::kHealthy;
    case ::v1::UNHEALTHY: return SimHealth::kUnhealthy;
    default: return SimHealth::kUnknown;
  }
}

template <class Response>
std::vector<SimDeviceHealth> FromHealthList(const Response& response) {
  std::vector<SimDeviceHealth> devices;
  devices.reserve(static_cast<std::size_t>(response.devices_size()));
  for (const auto& device : response.devices()) {
    devices.push_back({.pool = device.device().pool_name(),
                       .device = device.device().device_name(),
                       .health = FromHealth(device.health()),
                       .message = HealthMessageOfKubelet(device.message()),
                       .timeout = HealthTimeout(device.health_check_timeout_seconds())});
  }
  return devices;
}

template <class Service, class Request, class Response>
void Watch(PluginChannel& channel, grpc::ClientContext& context,
           const std::function<void(const std::vector<SimDeviceHealth>&)>& on_list) {
  const auto stub = Service::NewStub(channel.channel());
  const auto reader = stub->NodeWatchResources(&context, Request());
  Response response;
  while (reader->Read(&response)) on_list(FromHealthList(response));
  // Every end has the same effect on a kubelet; Finish releases the call.
  (void)reader->Finish();
}

}  // namespace

Result<SimPluginInfo> GetPluginInfo(PluginChannel& channel, std::chrono::milliseconds timeout) {
  const auto stub = pluginregistration::Registration::NewStub(channel.channel());
  const auto info = TRY(channel.Unary<pluginregistration::PluginInfo>(
      [&](auto* context, auto* response) { return stub->GetInfo(context, {}, response); },
      timeout));
  return SimPluginInfo{
      .type = info.type(),
      .name = info.name(),
      .endpoint = info.endpoint(),
      .supported_versions = {info.supported_versions().begin(), info.supported_versions().end()}};
}

Status NotifyRegistration(PluginChannel& channel, const std::string& error,
                          std::chrono::milliseconds timeout) {
  const auto stub = pluginregistration::Registration::NewStub(channel.channel());
  pluginregistration::RegistrationStatus status;
  status.set_plugin_registered(error.empty());
  status.set_error(error);
  TRY(channel.Unary<pluginregistration::RegistrationStatusResponse>(
      [&](auto* context, auto* response) {
        return stub->NotifyRegistrationStatus(context, status, response);
      },
      timeout));
  return {};
}

Result<SimClaimAnswers> PrepareOnDriver(PluginChannel& channel, DraApi api,
                                        const std::vector<SimClaim>& claims,
                                        std::chrono::milliseconds timeout) {
  return api == DraApi::kV1 ? Prepare<PluginV1>(channel, claims, timeout)
                            : Prepare<PluginV1beta1>(channel, claims, timeout);
}

Result<SimClaimAnswers> UnprepareOnDriver(PluginChannel& channel, DraApi api,
                                          const std::vector<SimClaim>& claims,
                                          std::chrono::milliseconds timeout) {
  return api == DraApi::kV1 ? Unprepare<PluginV1>(channel, claims, timeout)
                            : Unprepare<PluginV1beta1>(channel, claims, timeout);
}

void WatchHealth(PluginChannel& channel, DraHealthApi api, PluginChannel::Call& call,
                 const std::function<void(const std::vector<SimDeviceHealth>&)>& on_list) {
  switch (api) {
    case DraHealthApi::kV1:
      return Watch<::v1::DRAResourceHealth, ::v1::NodeWatchResourcesRequest,
                   ::v1::NodeWatchResourcesResponse>(channel, call.context(), on_list);
    case DraHealthApi::kV1alpha1:
      return Watch<::v1alpha1::DRAResourceHealth, ::v1alpha1::NodeWatchResourcesRequest,
                   ::v1alpha1::NodeWatchResourcesResponse>(channel, call.context(), on_list);
  }
}

}  // namespace patchbay
