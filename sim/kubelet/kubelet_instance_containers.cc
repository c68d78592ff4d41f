// Start of containers, and the PodResources API.

#include <utility>

#include "base/format.h"
#include "sim/kubelet/kubelet_instance.h"
#include "sim/kubelet/pod_list.h"

namespace patchbay {

Status KubeletInstance::StartContainer(const std::string& pod, const std::string& container) {
  PodDevices held;
  {
    const std::lock_guard lock(state_->mutex);
    if (ending_) return Fail(ErrorKind::kUnavailable, "the kubelet is stopping");
    for (const auto& [key, devices] : pods_) {
      if (key.pod == pod && key.container == container) held[key] = devices;
    }
  }
  for (const auto& [key, devices] : held) {
    const Status ready = PreStart(key.resource, devices.ids);
    if (ready) continue;
    return Fail(ready.error().kind, "CreateContainerConfigError: " + ready.error().message);
  }
  return {};
}

Status KubeletInstance::PreStart(const std::string& resource, const std::vector<std::string>& ids) {
  const std::string failed = "device plugin PreStartContainer rpc failed with err: ";
  Client client;
  {
    const std::lock_guard lock(state_->mutex);
    Expire();
    const Registry::Endpoint* const primary = registry_.Primary(resource);
    if (primary == nullptr) {
      return Fail(ErrorKind::kPrecondition,
                  Format("endpoint not found in cache for a registered resource: {}", resource));
    }
    if (!primary->options.pre_start_required) return {};
    client = FindClient(primary->client);
    if (primary->stopped || !client) {
      return Fail(ErrorKind::kPrecondition,
                  Format("{}endpoint {} has been stopped", failed, resource));
    }
  }
  v1beta1::PreStartContainerRequest request;
  for (const std::string& id : ids) request.add_devices_ids(id);
  const auto answer = client->PreStart(request, options_.pre_start_timeout);
  if (answer) return {};
  return Fail(answer.error().kind, failed + answer.error().message);
}

// --- PodResources ---

Status KubeletInstance::ServePodResources() {
  if (options_.pod_resources.empty()) return {};
  PodResourcesServer::Backend backend{.list =
                                          [this] {
                                            const auto prepared = options_.prepared_claims();
                                            const std::lock_guard lock(state_->mutex);
                                            return PodList(pods_, registry_,
                                                           state_->container_claims, prepared);
                                          },
                                      .on_call =
                                          [state = state_] {
                                            const std::lock_guard lock(state->mutex);
                                            ++state->pod_resources_calls;
                                            state->Changed();
                                          }};
  PodResourcesFault fault;
  {
    const std::lock_guard lock(state_->mutex);
    fault = state_->pod_resources_fault;
  }
  pod_resources_ =
      TRY(PodResourcesServer::Create(options_.pod_resources, std::move(backend), fault));
  return {};
}

Status KubeletInstance::SetPodResourcesFault(PodResourcesFault fault) {
  std::shared_ptr<PodResourcesServer> server;
  {
    const std::lock_guard lock(state_->mutex);
    server = pod_resources_;
  }
  return server ? server->SetFault(fault) : Status();
}

}  // namespace patchbay
