// The part of ClaimRun that uses the host: lookups of device nodes, and hooks.

#include <algorithm>
#include <utility>

#include "dra/claim_metadata.h"
#include "dra/claim_run.h"

namespace patchbay {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::hours kUntilItEnds{24};
/// Longer than HostLookups::kLimit, which has a message.
constexpr std::chrono::seconds kLookupLimit{30};

}  // namespace

/// Renders each request where lookups of its resource can hang.
Result<std::vector<ContainerResponse>> ClaimRun::Render(std::span<const PreparedRequest> requests,
                                                        const ServedResources& resources) {
  std::vector<ContainerResponse> responses;
  for (const PreparedRequest& request : requests) {
    using Response = Result<ContainerResponse>;
    const ServedResource& served = resources.at(request.devices.front().pool);
    auto rendered = port_.Await<Response>(steady_clock::now() + kLookupLimit, [&](auto done) {
      const auto response = std::make_shared<Response>();
      served.lookups->Run(
          [response, request, devices = served.devices](const AllocationContext& context) {
            *response = RenderRequest(request, devices->snapshot(), context);
          },
          [response, done] { done(std::move(*response)); },
          [done](std::string why) { done(Fail(ErrorKind::kUnavailable, std::move(why))); });
    });
    if (!rendered) return ShutsDown();
    if (!*rendered && rendered->error().kind != ErrorKind::kInvalid) {
      port_.Post(served.on_stale_list);
    }
    responses.push_back(TRY(*std::move(rendered)));
  }
  return responses;
}

Result<ClaimSpec> ClaimRun::Render(const PreparedClaim& plan, const ServedResources& resources) {
  const std::vector<ContainerResponse> responses = TRY(Render(plan.requests, resources));
  PreparedClaim with_metadata = plan;
  if (environment_->writes_metadata) {
    with_metadata.metadata = MetadataOf(plan, store_.driver(), resources, responses);
  }
  return MakeClaimSpec(store_.driver(), std::move(with_metadata), responses, store_.metadata_dir());
}

/// Returns why the nodes in the CDI file are not those on the host now, also those of no device
/// that is listed; "" if they are.
Result<std::string> ClaimRun::FindMoved(const PreparedClaim& record,
                                        const ServedResources& resources) {
  const auto responses = Render(record.requests, resources);
  if (!responses && responses.error().kind == ErrorKind::kUnavailable) {
    return Failure(responses.error());
  }
  // The configuration has changed, and its templates no longer fit.
  if (!responses && responses.error().kind == ErrorKind::kInvalid) return "";
  if (!responses) return responses.error().message;
  return MovedNode(TRY(CdiFromJson(record.cdi_file)), *responses);
}

/// Runs the hooks, and returns the record of the devices as they are then: a hook that resets a
/// device can give it another node.
Result<PreparedClaim> ClaimRun::RunPrepareHooks(const PreparedClaim& plan,
                                                const ServedResources& before, PreparedClaim record,
                                                std::string& temporary) {
  TRY(Step("running the hook allocate"));
  TRY(RunHooks(std::move(hooks_[0])));
  TRY(Step("running the hook pre_start"));
  TRY(RunHooks(std::move(hooks_[1])));
  TRY(Step("comparing device nodes after the hooks"));
  for (;;) {
    ServedResources resources = TRY(Resources());
    for (const auto& [pool, served] : before) {  // a reload can remove them meanwhile
      ServedResource& now = resources[pool];
      if (now.devices == nullptr) now = served;
    }
    auto spec = Render(plan, resources);
    if (spec) {
      if (spec->record.cdi_file != record.cdi_file) {
        static_cast<void>(store_.cdi().Remove(temporary));
        temporary = TRY(store_.cdi().WriteTemporary(spec->record.cdi_file));
      }
      record.requests = std::move(spec->record.requests);
      record.metadata = std::move(spec->record.metadata);
      record.cdi_file = std::move(spec->record.cdi_file);
      RecordDevices(resources, record);
      return record;
    }
    const auto next = steady_clock::now() + kRetry;
    if (next >= began_ + environment_->hook_limit || spec.error().kind == ErrorKind::kInvalid) {
      return Failure(std::move(spec).error());
    }
    if (!port_.SleepUntil(next)) return ShutsDown();
  }
}

/// Runs hooks at the same time, and returns the first failure when all have ended. The locks stay
/// until then, even if no call waits any more.
Status ClaimRun::RunHooks(std::vector<HookRun> runs) {
  if (runs.empty()) return {};
  struct Pending {
    std::mutex mutex;
    std::size_t count;
    Status first;
  };
  const auto pending = std::make_shared<Pending>();
  pending->count = runs.size();
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      began_ + environment_->hook_limit - steady_clock::now());
  const auto status = port_.Await<Status>(steady_clock::now() + kUntilItEnds, [&](auto done) {
    for (auto& [runner, call] : runs) {
      if (call.hook != Hook::kRelease) call.patience = std::max(left, std::chrono::milliseconds(0));
      runner->Run(std::move(call), [pending, done, lock = lock_](const Status& ended) {
        std::unique_lock guard(pending->mutex);
        if (!ended && pending->first) pending->first = ended;
        if (--pending->count > 0) return;
        guard.unlock();
        done(pending->first);
      });
    }
  });
  return status ? *status : Status(ShutsDown());
}

}  // namespace patchbay
