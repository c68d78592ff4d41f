// The messages of the versions differ only in their types, so the calls are templates. A call
// about claims is finished by the ClaimService, or when the last copy of its `done` is destroyed.
// It does not refer to the server, which can end before it.

#include "dra/driver_handlers.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/escape.h"
#include "dra/claim_messages.h"
#include "drahealth_v1.pb.h"
#include "drahealth_v1alpha1.pb.h"
#include "draplugin_v1.pb.h"
#include "draplugin_v1beta1.pb.h"
#include "pluginregistration.pb.h"
#include "rpc/messages.h"
#include "rpc/unary_reply.h"

namespace patchbay {
namespace {

namespace claims_v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace claims_v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;

/// Enough for kMaxClaimsPerCall claims with the longest names.
constexpr std::size_t kMaxClaimRequestBytes = 256 * 1024;
/// The time that the kubelet gives a call, for callers that set no deadline.
constexpr std::chrono::seconds kMaxClaimCallTime{45};
/// A report about a registration has one short text.
constexpr std::size_t kMaxReportBytes = 64 * 1024;
constexpr std::size_t kMaxRegistrationError = 1000;
/// The kubelet takes the first version that it supports.
constexpr const char* kSupportedVersions[] = {"v1.DRAPlugin", "v1beta1.DRAPlugin",
                                              "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"};

/// Returns a function that reports the end of a call to the observer.
UnaryReply::OnEnd ReportTo(std::shared_ptr<DriverObserver> observer, DriverRpc rpc) {
  return [observer = std::move(observer), rpc](std::string_view code, std::chrono::nanoseconds) {
    observer->OnRpc(rpc, code);
  };
}

std::chrono::steady_clock::time_point DeadlineOf(const ServerCall& call) {
  const auto now = std::chrono::system_clock::now();
  const auto by = std::min(call.deadline(), now + kMaxClaimCallTime);
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(by - now);
}

/// One pending call about claims, which owns its reply.
template <class Response>
class ClaimReply {
 public:
  ClaimReply(std::shared_ptr<UnaryReply> reply, ClaimsOfCall request)
      : reply_(std::move(reply)), request_(std::move(request)) {}
  /// The claims have failed if there was no result.
  ~ClaimReply() { Finish({}); }
  ClaimReply(const ClaimReply&) = delete;
  ClaimReply& operator=(const ClaimReply&) = delete;

  /// Only the first call has an effect, and only before the call is canceled.
  void Finish(const ClaimResults& results) {
    reply_->Finish({}, [&] {
      Response response;
      FillClaims(request_, results, response);
      return Serialize(response);
    });
  }

 private:
  const std::shared_ptr<UnaryReply> reply_;
  const ClaimsOfCall request_;
};

using ClaimMethod = void (ClaimService::*)(std::vector<ClaimKey>, ClaimCall,
                                           std::function<void(ClaimResults)>);

/// Returns the handler that passes a call on to a function of ClaimService.
template <class Request, class Response>
RpcHandler ClaimHandler(const DriverBackend& backend, DriverRpc rpc, ClaimMethod method) {
  return HandlerOf<Request>(kMaxClaimRequestBytes, [=](ServerCall& call, const auto& request) {
    const auto reply =
        UnaryReply::Begin(call, ReportTo(backend.observer, rpc), backend.pending, backend.driver);
    auto claims = ReadClaims(request);
    if (!claims) {
      reply->Finish(Failure(std::move(claims).error()));
      return;
    }
    std::vector<ClaimKey> valid = claims->claims;
    const ClaimCall limits{DeadlineOf(call)};
    const auto pending = std::make_shared<ClaimReply<Response>>(reply, *std::move(claims));
    if (valid.empty()) return;
    (backend.claims.get()->*method)(
        std::move(valid), limits,
        [pending](const ClaimResults& results) { pending->Finish(results); });
  });
}

/// Returns the message of a list that is sent now: the kubelet compares the time with its clock.
template <class Response>
grpc::ByteBuffer HealthBytes(const HealthList& list) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count();
  Response response;
  for (const PoolHealth& pool : list) {
    for (const DeviceHealth& device : pool.devices) {
      auto& out = *response.add_devices();
      out.mutable_device()->set_pool_name(pool.pool);
      out.mutable_device()->set_device_name(device.device);
      // The numbers are the same in both versions.
      const int number = device.health == Health::kHealthy ? ::v1::HEALTHY : ::v1::UNHEALTHY;
      out.set_health(static_cast<decltype(out.health())>(number));
      out.set_last_updated_time(seconds);
      out.set_message(device.message);
    }
  }
  return Serialize(response);
}

template <class Request, class Response>
RpcHandler HealthHandler(HealthStreams& streams) {
  return HandlerOf<Request>(kMaxClaimRequestBytes, [&streams](ServerCall& call, const auto&) {
    streams.Open(call, &HealthBytes<Response>);
  });
}

Status StatusOf(const pluginregistration::RegistrationStatus& report) {
  if (report.plugin_registered()) return {};
  if (report.error().empty()) {
    return Fail(ErrorKind::kInvalid, "the kubelet gave no reason; check the kubelet log");
  }
  return Fail(ErrorKind::kInvalid, Truncate(report.error(), kMaxRegistrationError));
}

}  // namespace

HealthStreams::Events HealthStreamEvents(std::shared_ptr<DriverObserver> observer,
                                         std::function<void(int open)> on_change) {
  return {.on_change =
              [observer, on_change = std::move(on_change)](int open, bool) {
                observer->OnHealthStreams(open);
                on_change(open);
              },
          .on_ended = ReportTo(observer, DriverRpc::kNodeWatchResources)};
}

RpcHandlers DriverHandlers(const DriverBackend& backend, HealthStreams& streams) {
  const auto prepare = DriverRpc::kNodePrepareResources;
  const auto unprepare = DriverRpc::kNodeUnprepareResources;
  return {
      {"/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources",
       ClaimHandler<claims_v1::NodePrepareResourcesRequest,
                    claims_v1::NodePrepareResourcesResponse>(backend, prepare,
                                                             &ClaimService::Prepare)},
      {"/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources",
       ClaimHandler<claims_v1::NodeUnprepareResourcesRequest,
                    claims_v1::NodeUnprepareResourcesResponse>(backend, unprepare,
                                                               &ClaimService::Unprepare)},
      {"/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodePrepareResources",
       ClaimHandler<claims_v1beta1::NodePrepareResourcesRequest,
                    claims_v1beta1::NodePrepareResourcesResponse>(backend, prepare,
                                                                  &ClaimService::Prepare)},
      {"/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodeUnprepareResources",
       ClaimHandler<claims_v1beta1::NodeUnprepareResourcesRequest,
                    claims_v1beta1::NodeUnprepareResourcesResponse>(backend, unprepare,
                                                                    &ClaimService::Unprepare)},
      {"/v1.DRAResourceHealth/NodeWatchResources",
       HealthHandler<::v1::NodeWatchResourcesRequest, ::v1::NodeWatchResourcesResponse>(streams)},
      {"/v1alpha1.DRAResourceHealth/NodeWatchResources",
       HealthHandler<::v1alpha1::NodeWatchResourcesRequest, ::v1alpha1::NodeWatchResourcesResponse>(
           streams)},
  };
}

RpcHandlers RegistrationHandlers(const DriverBackend& backend, std::string endpoint,
                                 OnDriverRegistration on_status) {
  pluginregistration::PluginInfo info;
  info.set_type("DRAPlugin");
  info.set_name(backend.driver);
  info.set_endpoint(std::move(endpoint));
  for (const char* version : kSupportedVersions) info.add_supported_versions(version);
  const auto get_info = [observer = backend.observer, info](ServerCall& call, const auto&) {
    UnaryReply::Begin(call, ReportTo(observer, DriverRpc::kGetInfo))->Finish({}, [&info] {
      return Serialize(info);
    });
  };
  const auto on_report = [observer = backend.observer, on_status = std::move(on_status)](
                             ServerCall& call, const auto& report) {
    const auto reply =
        UnaryReply::Begin(call, ReportTo(observer, DriverRpc::kNotifyRegistrationStatus));
    on_status(StatusOf(report));
    reply->Finish({});
  };
  return {
      {"/pluginregistration.Registration/GetInfo",
       HandlerOf<pluginregistration::InfoRequest>(kMaxReportBytes, get_info)},
      {"/pluginregistration.Registration/NotifyRegistrationStatus",
       HandlerOf<pluginregistration::RegistrationStatus>(kMaxReportBytes, on_report)},
  };
}

}  // namespace patchbay
