#include "kubelet/plugin_service.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "inventory/replica_ids.h"
#include "kubelet/allocate_call.h"
#include "kubelet/proto_convert.h"
#include "rpc/messages.h"

namespace patchbay {
namespace {

/// A request can contain every device of a resource; one for a preference can do so several times.
constexpr std::size_t kMaxDevicesBytes = 4 * 1024 * 1024;
constexpr std::size_t kMaxPreferenceBytes = 16 * 1024 * 1024;
constexpr std::size_t kMaxEmptyBytes = 1024;

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

PluginService::PluginService(PluginBackend backend, OnStreams on_streams)
    : backend_(std::make_shared<const PluginBackend>(std::move(backend))),
      lists_({.on_change = std::move(on_streams),
              .on_ended =
                  [this](std::string_view code, std::chrono::nanoseconds lasted) {
                    backend_->observer->OnRpc(Rpc::kListAndWatch, code, lasted);
                  },
              .on_sent = [this] { backend_->observer->OnListSent(); },
              .on_refused =
                  [this](const std::string& why) { backend_->on_refused("stream refused", why); }},
             [](const Snapshot& a, const Snapshot& b) { return a.generation < b.generation; }) {}

RpcHandlers PluginService::Handlers() {
  return {
      {"/v1beta1.DevicePlugin/GetDevicePluginOptions",
       HandlerOf<v1beta1::Empty>(
           kMaxEmptyBytes,
           [this](ServerCall& call, const auto&) { GetDevicePluginOptions(call); })},
      {"/v1beta1.DevicePlugin/ListAndWatch",
       HandlerOf<v1beta1::Empty>(kMaxEmptyBytes,
                                 [this](ServerCall& call, const auto&) {
                                   lists_.Open(
                                       call,
                                       [](const Snapshot& list) {
                                         return ToBuffer(ListMessage(list).SerializeAsString());
                                       },
                                       backend_->snapshot->Get());
                                 })},
      {"/v1beta1.DevicePlugin/GetPreferredAllocation",
       HandlerOf<v1beta1::PreferredAllocationRequest>(
           kMaxPreferenceBytes,
           [this](ServerCall& call, const auto& request) {
             GetPreferredAllocation(call, request);
           })},
      {"/v1beta1.DevicePlugin/Allocate",
       HandlerOf<v1beta1::AllocateRequest>(
           kMaxDevicesBytes,
           [this](ServerCall& call, const auto& request) {
             std::make_shared<AllocateCall>(*backend_, call, request)->Begin(backend_);
           })},
      {"/v1beta1.DevicePlugin/PreStartContainer",
       HandlerOf<v1beta1::PreStartContainerRequest>(
           kMaxDevicesBytes,
           [this](ServerCall& call, const auto& request) { PreStartContainer(call, request); })},
  };
}

void PluginService::GetDevicePluginOptions(ServerCall& call) {
  gave_options_ = true;
  const auto reply =
      UnaryReply::Begin(call, ReportTo(backend_->observer, Rpc::kGetDevicePluginOptions));
  // Before the first scan, nothing is registered, and no kubelet calls.
  const auto snapshot = backend_->snapshot->Get();
  reply->Finish({}, [&] {
    return Serialize(snapshot ? PluginOptions(*snapshot->spec) : v1beta1::DevicePluginOptions());
  });
}

void PluginService::GetPreferredAllocation(ServerCall& call,
                                           const v1beta1::PreferredAllocationRequest& request) {
  const auto reply =
      UnaryReply::Begin(call, ReportTo(backend_->observer, Rpc::kGetPreferredAllocation));
  const auto snapshot = backend_->snapshot->Get();
  v1beta1::PreferredAllocationResponse response;
  for (const auto& container : request.container_requests()) {
    auto& preferred = *response.add_container_responses();
    if (snapshot == nullptr) continue;
    for (std::string& id : ChoosePreferred(*snapshot, FromMessage(container))) {
      preferred.add_device_ids(std::move(id));
    }
  }
  reply->Finish({}, [&] { return Serialize(response); });
}

void PluginService::PreStartContainer(ServerCall& call,
                                      const v1beta1::PreStartContainerRequest& request) {
  const auto reply = backend_->BeginReply(call, Rpc::kPreStartContainer);
  const auto refuse = [&](const Status& status) {
    backend_->on_refused("start refused", status.error().message);
    reply->Finish(status);
  };
  const auto snapshot = backend_->snapshot->Get();
  if (snapshot == nullptr) return refuse(NothingScannedYet());
  if (!NeedsPreStart(*snapshot->spec)) {  // the options do not request this call
    reply->Finish({});
    return;
  }
  auto hook = backend_->Plan(Hook::kPreStart, *snapshot,
                             {{request.devices_ids().begin(), request.devices_ids().end()}});
  if (!hook) return refuse(Failure(std::move(hook).error()));
  backend_->RunAfterRelease(*std::move(hook), *snapshot->spec,
                            [reply](const Status& status) { reply->Finish(status); });
}

std::shared_ptr<UnaryReply> PluginBackend::BeginReply(ServerCall& call, Rpc rpc) const {
  return UnaryReply::Begin(call, ReportTo(observer, rpc), pending, resource);
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
