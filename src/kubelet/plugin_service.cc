#include "kubelet/plugin_service.h"

#include <chrono>
#include <utility>
#include <vector>

#include "inventory/units.h"
#include "kubelet/messages.h"
#include "kubelet/replies.h"

namespace patchbay {
namespace {

Failure NothingYet() { return Fail(ErrorKind::kUnavailable, "no device was looked for yet"); }

/// Answers an Allocate for containers of so many devices each.
void FinishAllocate(Reply& reply, const std::vector<int>& devices, ResourceObserver& observer,
                    const std::function<void()>& on_granted, const Status& status) {
  const bool heard = reply.Finish(status, [&] {
    for (const int count : devices) observer.OnAllocation(status.has_value(), count);
  });
  if (heard && status) on_granted();
}

}  // namespace

v1beta1::DevicePluginOptions PluginOptions(const ResourceSpec& spec) {
  v1beta1::DevicePluginOptions options;
  options.set_get_preferred_allocation_available(spec.preferred_allocation != Preference::kNone);
  options.set_pre_start_required(HoldsUpStart(spec));
  return options;
}

grpc::ServerUnaryReactor* PluginService::GetDevicePluginOptions(
    grpc::CallbackServerContext*, const v1beta1::Empty*, v1beta1::DevicePluginOptions* response) {
  const auto reply = Reply::Begin(backend_.observer, Rpc::kGetDevicePluginOptions);
  // Whoever asks before the first look at the host is this process, to see whether it is heard.
  if (const auto snapshot = backend_.snapshot->Get()) *response = PluginOptions(*snapshot->spec);
  reply->Finish({});
  return reply->reactor();
}

grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* PluginService::ListAndWatch(
    grpc::CallbackServerContext*, const v1beta1::Empty*) {
  return streams_.Open(backend_.snapshot->Get());
}

grpc::ServerUnaryReactor* PluginService::GetPreferredAllocation(
    grpc::CallbackServerContext*, const v1beta1::PreferredAllocationRequest* request,
    v1beta1::PreferredAllocationResponse* response) {
  const auto reply = Reply::Begin(backend_.observer, Rpc::kGetPreferredAllocation);
  const auto snapshot = backend_.snapshot->Get();
  for (const auto& container : request->container_requests()) {
    auto& preferred = *response->add_container_responses();
    if (snapshot == nullptr) continue;
    for (std::string& id : Prefer(*snapshot, FromMessage(container))) {
      preferred.add_device_ids(std::move(id));
    }
  }
  reply->Finish({});
  return reply->reactor();
}

grpc::ServerUnaryReactor* PluginService::Allocate(grpc::CallbackServerContext*,
                                                  const v1beta1::AllocateRequest* request,
                                                  v1beta1::AllocateResponse* response) {
  const auto reply = Reply::Begin(backend_.observer, Rpc::kAllocate);
  Containers containers;
  std::vector<int> devices;
  for (const auto& container : request->container_requests()) {
    containers.emplace_back(container.devices_ids().begin(), container.devices_ids().end());
    devices.push_back(container.devices_ids_size());
  }
  const auto finish = [&](const Status& status) {
    if (!status) backend_.on_refused("allocation refused", status.error().message);
    FinishAllocate(*reply, devices, *backend_.observer, backend_.on_granted, status);
  };
  const auto snapshot = backend_.snapshot->Get();
  if (snapshot == nullptr) {
    finish(NothingYet());
  } else if (const Status status = AllocateAll(*snapshot, containers, *response);
             !status || !snapshot->spec->allocate) {
    finish(status);
  } else if (auto call = Plan(Hook::kAllocate, *snapshot, containers); !call) {
    finish(Failure(std::move(call).error()));
  } else {
    // This service may be gone by then; and what a call of the runner holds must not be the runner.
    RunAfterRelease(*std::move(call), *snapshot->spec,
                    [reply, devices, observer = backend_.observer,
                     on_granted = backend_.on_granted](const Status& after) {
                      FinishAllocate(*reply, devices, *observer, on_granted, after);
                    });
  }
  return reply->reactor();
}

Status PluginService::AllocateAll(const Snapshot& snapshot, const Containers& containers,
                                  v1beta1::AllocateResponse& response) const {
  for (const auto& ids : containers) {
    auto answer = patchbay::Allocate(snapshot, ids, backend_.allocation);
    if (!answer) {
      if (answer.error().kind != ErrorKind::kInvalid) backend_.on_stale_list();
      return Failure(std::move(answer).error());
    }
    FillResponse(std::move(*answer), *response.add_container_responses());
  }
  return {};
}

grpc::ServerUnaryReactor* PluginService::PreStartContainer(
    grpc::CallbackServerContext*, const v1beta1::PreStartContainerRequest* request,
    v1beta1::PreStartContainerResponse*) {
  const auto reply = Reply::Begin(backend_.observer, Rpc::kPreStartContainer);
  const auto refuse = [&](const Status& status) {
    backend_.on_refused("start refused", status.error().message);
    reply->Finish(status);
  };
  const auto snapshot = backend_.snapshot->Get();
  if (snapshot == nullptr) {
    refuse(NothingYet());
  } else if (!HoldsUpStart(*snapshot->spec)) {  // then nobody was asked to call
    reply->Finish({});
  } else if (auto call = Plan(Hook::kPreStart, *snapshot,
                              {{request->devices_ids().begin(), request->devices_ids().end()}});
             !call) {
    refuse(Failure(std::move(call).error()));
  } else {
    RunAfterRelease(*std::move(call), *snapshot->spec,
                    [reply](const Status& status) { reply->Finish(status); });
  }
  return reply->reactor();
}

/// What others left of the devices is released first.
void PluginService::RunAfterRelease(HookCall call, const ResourceSpec& spec,
                                    HookRunner::Done done) const {
  using namespace std::chrono;
  if (!spec.release) return backend_.hooks->Run(std::move(call), std::move(done));
  const std::set<std::string> devices = call.devices;
  backend_.before_start(devices, [start = steady_clock::now(), hooks = backend_.hooks,
                                  call = std::move(call), done = std::move(done)]() mutable {
    *call.patience -= duration_cast<milliseconds>(steady_clock::now() - start);
    hooks->Run(std::move(call), std::move(done));
  });
}

Result<HookCall> PluginService::Plan(Hook hook, const Snapshot& snapshot,
                                     const Containers& containers) const {
  std::vector<Variables> all;
  for (const auto& ids : containers) {
    auto units = UnitsOf(snapshot, ids, backend_.allocation.node_name);
    if (!units) {
      backend_.on_stale_list();
      return Failure(std::move(units).error());
    }
    for (const Unit& unit : *units) all.push_back(unit.variables);
  }
  return PlanHook(hook, *snapshot.spec, all);
}

}  // namespace patchbay
