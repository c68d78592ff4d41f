#include "kubelet/allocate_call.h"

#include <utility>

#include "base/format.h"
#include "inventory/allocation.h"
#include "inventory/allocation_host.h"
#include "inventory/host_lookups.h"
#include "kubelet/proto_convert.h"
#include "rpc/messages.h"

namespace patchbay {

AllocateCall::AllocateCall(std::shared_ptr<const PluginBackend> backend, ServerCall& call,
                           const v1beta1::AllocateRequest& request)
    : backend_(std::move(backend)),
      answer_(std::make_shared<Answer>(Answer{backend_->BeginReply(call, Rpc::kAllocate),
                                              {},
                                              {},
                                              backend_->observer,
                                              backend_->usage})),
      snapshot_(backend_->snapshot->Get()) {
  for (const auto& container : request.container_requests()) {
    containers_.emplace_back(container.devices_ids().begin(), container.devices_ids().end());
    answer_->devices.push_back(container.devices_ids_size());
  }
}

void AllocateCall::Begin() {
  if (snapshot_ == nullptr) return Refuse(NothingScannedYet());
  if (containers_.size() > kMaxContainers) {
    return Refuse(Fail(ErrorKind::kInvalid,
                       Format("a call can be for at most {} containers", kMaxContainers)));
  }
  bool unknown = false;
  status_ = Render(CachedAllocationOn(backend_->allocation, unknown));
  if (unknown) return LookUp();
  OnRendered();
}

/// Repeats the call where lookups can hang. Functions there use only this call and shared state.
void AllocateCall::LookUp() {
  const auto lookups = backend_->lookups.lock();
  if (lookups == nullptr) {
    return Refuse(Fail(ErrorKind::kUnavailable, "the resource is being removed"));
  }
  answer_->response.Clear();
  lookups->Run([self = shared_from_this()](
                   const AllocationContext& context) { self->status_ = self->Render(context); },
               [self = shared_from_this()] { self->OnRendered(); },
               // Render may still be running.
               [self = shared_from_this()](std::string why) {
                 self->Refuse(Fail(ErrorKind::kUnavailable, std::move(why)));
               });
}

Status AllocateCall::Render(const AllocationContext& context) {
  for (const auto& ids : containers_) {
    FillResponse(TRY(Allocate(*snapshot_, ids, context)),
                 *answer_->response.add_container_responses());
    if (answer_->response.ByteSizeLong() > kMaxResponse) {
      return Fail(ErrorKind::kInvalid,
                  Format("the containers of the call would get more than {} bytes", kMaxResponse));
    }
  }
  return {};
}

void AllocateCall::OnRendered() {
  if (!status_) {
    if (status_.error().kind != ErrorKind::kInvalid) backend_->on_stale_list();
    return Refuse(status_);
  }
  if (!snapshot_->spec->allocate) return answer_->Finish({});
  auto hook = backend_->Plan(Hook::kAllocate, *snapshot_, containers_);
  if (!hook) return Refuse(Failure(std::move(hook).error()));
  // The call must not keep the runner alive, which keeps the call alive.
  backend_->RunAfterRelease(*std::move(hook), *snapshot_->spec,
                            [answer = answer_](const Status& after) { answer->Finish(after); });
}

void AllocateCall::Refuse(const Status& status) {
  backend_->on_refused("allocation refused", status.error().message);
  answer_->Finish(status);
}

void AllocateCall::Answer::Finish(const Status& status) {
  const bool is_sent = reply->Finish(status, [&] {
    for (const int count : devices) observer->OnAllocation(status.has_value(), count);
    return Serialize(response);
  });
  if (is_sent && status) usage->OnAllocated();
}

}  // namespace patchbay
