#include "kubelet/allocate_call.h"

#include <utility>

#include "base/format.h"
#include "inventory/allocation.h"
#include "inventory/allocation_host.h"
#include "inventory/host_lookups.h"
#include "kubelet/proto_convert.h"
#include "rpc/messages.h"

namespace patchbay {

AllocateCall::AllocateCall(const PluginBackend& backend, ServerCall& call,
                           const v1beta1::AllocateRequest& request)
    : reply_(backend.BeginReply(call, Rpc::kAllocate)),
      observer_(backend.observer),
      usage_(backend.usage),
      allocation_(backend.allocation),
      lookups_(backend.lookups),
      on_stale_list_(backend.on_stale_list),
      on_refused_(backend.on_refused),
      snapshot_(backend.snapshot->Get()) {
  for (const auto& container : request.container_requests()) {
    containers_.emplace_back(container.devices_ids().begin(), container.devices_ids().end());
  }
}

void AllocateCall::Begin(std::shared_ptr<const PluginBackend> backend) {
  if (snapshot_ == nullptr) return Refuse(NothingScannedYet());
  if (containers_.size() > kMaxContainers) {
    return Refuse(Fail(
        ErrorKind::kInvalid,
        Format("a call can be for at most {} containers; make several calls", kMaxContainers)));
  }
  Render([self = shared_from_this(), backend = std::move(backend)] { self->RunHook(*backend); });
}

/// Renders the response, then calls `then`; refuses the call if there is an error. Functions that
/// run where lookups can hang use only this call and shared state.
void AllocateCall::Render(std::function<void()> then) {
  bool unknown = false;
  status_ = Fill(CachedAllocationOn(allocation_, unknown));
  const auto finish = [self = shared_from_this(), then = std::move(then)] {
    if (self->status_) return then();
    if (self->status_.error().kind != ErrorKind::kInvalid) self->on_stale_list_();
    self->Refuse(self->status_);
  };
  if (!unknown) return finish();
  const auto lookups = lookups_.lock();
  if (lookups == nullptr) {
    return Refuse(Fail(ErrorKind::kUnavailable, "the resource is being removed"));
  }
  lookups->Run([self = shared_from_this()](
                   const AllocationContext& context) { self->status_ = self->Fill(context); },
               finish,
               // Fill may still be running.
               [self = shared_from_this()](std::string why) {
                 self->Refuse(Fail(ErrorKind::kUnavailable, std::move(why)));
               });
}

Status AllocateCall::Fill(const AllocationContext& context) {
  response_.Clear();
  for (const auto& ids : containers_) {
    FillResponse(TRY(Allocate(*snapshot_, ids, context)), *response_.add_container_responses());
    if (response_.ByteSizeLong() > kMaxResponse) {
      return Fail(ErrorKind::kInvalid,
                  Format("the containers of the call would get more than {} bytes; request fewer "
                         "devices, or make several calls",
                         kMaxResponse));
    }
  }
  return {};
}

void AllocateCall::RunHook(const PluginBackend& backend) {
  if (!snapshot_->spec->allocate) return Finish({});
  auto hook = backend.Plan(Hook::kAllocate, *snapshot_, containers_);
  if (!hook) return Refuse(Failure(std::move(hook).error()));
  backend.RunAfterRelease(*std::move(hook), *snapshot_->spec,
                          [self = shared_from_this()](const Status& after) {
                            if (!after) return self->Finish(after);
                            self->Render([self] { self->Finish({}); });
                          });
}

void AllocateCall::Refuse(const Status& status) {
  on_refused_("allocation refused", status.error().message);
  Finish(status);
}

void AllocateCall::Finish(const Status& status) {
  const bool is_sent = reply_->Finish(status, [&] {
    for (const auto& ids : containers_) {
      observer_->OnAllocation(status.has_value(), static_cast<int>(ids.size()));
    }
    // After an error, Fill may still be running.
    return status ? Serialize(response_) : grpc::ByteBuffer();
  });
  if (is_sent && status) usage_->OnAllocated();
}

}  // namespace patchbay
