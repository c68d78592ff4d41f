#include "kubelet/plugin_service.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include "base/escape.h"
#include "inventory/units.h"
#include "kubelet/messages.h"

namespace patchbay {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// gRPC carries the text in a header, whose size the other side limits.
constexpr std::size_t kLongestMessage = 1000;

grpc::StatusCode CodeOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid: return grpc::StatusCode::INVALID_ARGUMENT;
    case ErrorKind::kNotFound: return grpc::StatusCode::NOT_FOUND;
    case ErrorKind::kPrecondition: return grpc::StatusCode::FAILED_PRECONDITION;
    case ErrorKind::kUnavailable: return grpc::StatusCode::UNAVAILABLE;
  }
  return grpc::StatusCode::UNKNOWN;
}

/// The code as metrics name it; only those that are made here.
std::string_view NameOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK: return "OK";
    case grpc::StatusCode::INVALID_ARGUMENT: return "INVALID_ARGUMENT";
    case grpc::StatusCode::NOT_FOUND: return "NOT_FOUND";
    case grpc::StatusCode::FAILED_PRECONDITION: return "FAILED_PRECONDITION";
    case grpc::StatusCode::UNAVAILABLE: return "UNAVAILABLE";
    case grpc::StatusCode::CANCELLED: return "CANCELLED";
    default: return "UNKNOWN";
  }
}

grpc::Status ToGrpc(const Status& status) {
  if (status) return grpc::Status::OK;
  // The text quotes what came from outside, and ends in the status of a pod.
  return {CodeOf(status.error().kind), Excerpt(Printable(status.error().message), kLongestMessage)};
}

Failure NothingYet() { return Fail(ErrorKind::kUnavailable, "no device was looked for yet"); }

/// The answer to a call that waits for a hook. It is finished once: by the hook, or by gRPC when
/// nobody waits for it any more, since the server has to go or the kubelet went.
class LateReply {
 public:
  static std::shared_ptr<LateReply> Create(std::shared_ptr<ResourceObserver> observer, Rpc rpc) {
    auto reply = std::make_shared<LateReply>(std::move(observer), rpc);
    reply->reactor_ = new Reactor(reply);  // deletes itself
    return reply;
  }
  LateReply(std::shared_ptr<ResourceObserver> observer, Rpc rpc)
      : observer_(std::move(observer)), rpc_(rpc) {}

  grpc::ServerUnaryReactor* reactor() const { return reactor_; }

  void Finish(const grpc::Status& status) {
    if (finished_.exchange(true)) return;
    observer_->OnRpc(rpc_, NameOf(status.error_code()), steady_clock::now() - start_);
    reactor_->Finish(status);
  }

 private:
  class Reactor : public grpc::ServerUnaryReactor {
   public:
    explicit Reactor(std::shared_ptr<LateReply> reply) : reply_(std::move(reply)) {}
    void OnCancel() override { reply_->Finish(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }

   private:
    const std::shared_ptr<LateReply> reply_;
  };

  const std::shared_ptr<ResourceObserver> observer_;
  const Rpc rpc_;
  const steady_clock::time_point start_ = steady_clock::now();
  Reactor* reactor_ = nullptr;  ///< valid until finished
  std::atomic<bool> finished_ = false;
};

/// Answers a unary call with what `answer` returns, and has it counted and timed.
template <class Answer>
grpc::ServerUnaryReactor* Reply(grpc::CallbackServerContext* context, ResourceObserver& observer,
                                Rpc rpc, Answer answer) {
  const auto start = steady_clock::now();
  const grpc::Status status = answer();
  observer.OnRpc(rpc, NameOf(status.error_code()), steady_clock::now() - start);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

}  // namespace

v1beta1::DevicePluginOptions PluginOptions(const ResourceSpec& spec) {
  v1beta1::DevicePluginOptions options;
  options.set_get_preferred_allocation_available(spec.preferred_allocation != Preference::kNone);
  options.set_pre_start_required(HoldsUpStart(spec));
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
  const auto snapshot = backend_.snapshot->Get();
  Containers containers;
  for (const auto& container : request->container_requests()) {
    containers.emplace_back(container.devices_ids().begin(), container.devices_ids().end());
  }
  const auto tell = [observer = backend_.observer, on_granted = backend_.on_granted,
                     containers](const Status& status) {
    for (const auto& ids : containers) {
      observer->OnAllocation(status.has_value(), static_cast<int>(ids.size()));
    }
    if (status) on_granted();
    return ToGrpc(status);
  };
  if (snapshot == nullptr || !snapshot->spec->allocate) {
    return Reply(context, *backend_.observer, Rpc::kAllocate,
                 [&] { return tell(AllocateAll(snapshot.get(), containers, *response)); });
  }
  const auto reply = LateReply::Create(backend_.observer, Rpc::kAllocate);
  const auto finish = [reply, tell](const Status& status) { reply->Finish(tell(status)); };
  Status status = AllocateAll(snapshot.get(), containers, *response);
  RunOrRefuse(status ? Plan(Hook::kAllocate, *snapshot, containers) : Failure(status.error()),
              finish);
  return reply->reactor();
}

Status PluginService::AllocateAll(const Snapshot* snapshot, const Containers& containers,
                                  v1beta1::AllocateResponse& response) const {
  if (snapshot == nullptr) return NothingYet();
  for (const auto& ids : containers) {
    auto answer = patchbay::Allocate(*snapshot, ids, backend_.allocation);
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
  const auto reply = LateReply::Create(backend_.observer, Rpc::kPreStartContainer);
  const auto finish = [reply](const Status& status) { reply->Finish(ToGrpc(status)); };
  const auto snapshot = backend_.snapshot->Get();
  if (snapshot == nullptr) {
    finish(NothingYet());
  } else if (!HoldsUpStart(*snapshot->spec)) {  // then nobody was asked to call
    finish({});
  } else {
    auto call = Plan(Hook::kPreStart, *snapshot,
                     {{request->devices_ids().begin(), request->devices_ids().end()}});
    if (!call || !snapshot->spec->release) {
      RunOrRefuse(std::move(call), finish);
    } else {
      RunAfterRelease(*std::move(call), finish);
    }
  }
  return reply->reactor();
}

/// The time until the devices of others are being released is time of the call, too.
void PluginService::RunAfterRelease(HookCall call, HookRunner::Done done) const {
  const auto start = steady_clock::now();
  const std::set<std::string> devices = call.devices;
  backend_.before_start(devices, [=, hooks = backend_.hooks, call = std::move(call),
                                  done = std::move(done)]() mutable {
    const auto waited = duration_cast<milliseconds>(steady_clock::now() - start);
    call.timeout = std::max(call.timeout - waited, milliseconds::zero());
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

void PluginService::RunOrRefuse(Result<HookCall> call, const HookRunner::Done& done) const {
  if (!call) return done(Failure(std::move(call).error()));
  backend_.hooks->Run(std::move(*call), done);
}

}  // namespace patchbay
