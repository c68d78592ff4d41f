#include "kubelet/plugin_service.h"

#include <chrono>
#include <utility>
#include <vector>

#include "inventory/replica_ids.h"
#include "kubelet/allocate_call.h"
#include "kubelet/proto_convert.h"

namespace patchbay {
namespace {

/// Returns a function that reports the end of a call to the observer.
UnaryReply::OnEnd ReportTo(std::shared_ptr<ResourceObserver> observer, Rpc rpc) {
  return [observer = std::move(observer), rpc](std::string_view code,
                                               std::chrono::nanoseconds duration) {
    observer->OnRpc(rpc, code, duration);
  };
}

}  // namespace

Failure NothingScannedYet() {
  return Fail(ErrorKind::kUnavailable, "the first scan of the host has not completed");
}

v1beta1::DevicePluginOptions PluginOptions(const ResourceSpec& spec) {
  v1beta1::DevicePluginOptions options;
  options.set_get_preferred_allocation_available(spec.preferred_allocation != Preference::kNone);
  options.set_pre_start_required(NeedsPreStart(spec));
  return options;
}

grpc::ServerUnaryReactor* PluginService::GetDevicePluginOptions(
    grpc::CallbackServerContext*, const v1beta1::Empty*, v1beta1::DevicePluginOptions* response) {
  asked_ = true;
  const auto reply = UnaryReply::Begin(ReportTo(backend_->observer, Rpc::kGetDevicePluginOptions));
  // Before the first scan, nothing is registered, and no kubelet calls.
  if (const auto snapshot = backend_->snapshot->Get()) *response = PluginOptions(*snapshot->spec);
  reply->Finish({});
  return reply->reactor();
}

grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* PluginService::ListAndWatch(
    grpc::CallbackServerContext*, const v1beta1::Empty*) {
  return streams_.Open(backend_->snapshot->Get());
}

grpc::ServerUnaryReactor* PluginService::GetPreferredAllocation(
    grpc::CallbackServerContext*, const v1beta1::PreferredAllocationRequest* request,
    v1beta1::PreferredAllocationResponse* response) {
  const auto reply = UnaryReply::Begin(ReportTo(backend_->observer, Rpc::kGetPreferredAllocation));
  const auto snapshot = backend_->snapshot->Get();
  for (const auto& container : request->container_requests()) {
    auto& preferred = *response->add_container_responses();
    if (snapshot == nullptr) continue;
    for (std::string& id : ChoosePreferred(*snapshot, FromMessage(container))) {
      preferred.add_device_ids(std::move(id));
    }
  }
  reply->Finish({});
  return reply->reactor();
}

grpc::ServerUnaryReactor* PluginService::Allocate(grpc::CallbackServerContext*,
                                                  const v1beta1::AllocateRequest* request,
                                                  v1beta1::AllocateResponse* response) {
  const auto call = std::make_shared<AllocateCall>(backend_, *request, response);
  call->Begin();
  return call->reactor();
}

grpc::ServerUnaryReactor* PluginService::PreStartContainer(
    grpc::CallbackServerContext*, const v1beta1::PreStartContainerRequest* request,
    v1beta1::PreStartContainerResponse*) {
  const auto reply = backend_->BeginReply(Rpc::kPreStartContainer);
  const auto refuse = [&](const Status& status) {
    backend_->on_refused("start refused", status.error().message);
    reply->Finish(status);
  };
  const auto snapshot = backend_->snapshot->Get();
  if (snapshot == nullptr) {
    refuse(NothingScannedYet());
  } else if (!NeedsPreStart(*snapshot->spec)) {  // the options do not request this call
    reply->Finish({});
  } else if (auto call =
                 backend_->Plan(Hook::kPreStart, *snapshot,
                                {{request->devices_ids().begin(), request->devices_ids().end()}});
             !call) {
    refuse(Failure(std::move(call).error()));
  } else {
    backend_->RunAfterRelease(*std::move(call), *snapshot->spec,
                              [reply](const Status& status) { reply->Finish(status); });
  }
  return reply->reactor();
}

std::shared_ptr<UnaryReply> PluginBackend::BeginReply(Rpc rpc) const {
  return UnaryReply::Begin(ReportTo(observer, rpc), pending, resource);
}

void PluginBackend::RunAfterRelease(HookCall call, const ResourceSpec& spec,
                                    HookRunner::Done done) const {
  using namespace std::chrono;
  if (!spec.release) return hooks->Run(std::move(call), std::move(done));
  std::set<std::string> devices = call.devices;
  usage->QueueReleasesThen(
      std::move(devices), [start = steady_clock::now(), hooks = hooks, call = std::move(call),
                           done = std::move(done)]() mutable {
        *call.patience -= duration_cast<milliseconds>(steady_clock::now() - start);
        hooks->Run(std::move(call), std::move(done));
      });
}

Result<HookCall> PluginBackend::Plan(
    Hook hook, const Snapshot& of, const std::vector<std::vector<std::string>>& containers) const {
  std::vector<Variables> all;
  for (const auto& ids : containers) {
    auto units = FindUnits(of, ids, allocation.node_name);
    if (!units) {
      on_stale_list();
      return Failure(std::move(units).error());
    }
    for (const Unit& unit : *units) all.push_back(unit.variables);
  }
  return PlanHook(hook, *of.spec, all);
}

}  // namespace patchbay
