// The messages of the versions differ only in their types, so the calls are templates. A call
// about claims is finished by the ClaimService, or when the last copy of its `done` is destroyed.
// It does not refer to the server, which can end before it.

#include "dra/driver_server.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "dra/claim_messages.h"
#include "dra/reply_report.h"
#include "drahealth_v1.pb.h"
#include "drahealth_v1alpha1.pb.h"
#include "draplugin_v1.pb.h"
#include "draplugin_v1beta1.pb.h"
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
  ClaimReply(std::shared_ptr<UnaryReply> reply, RequestedClaims request)
      : reply_(std::move(reply)), request_(std::move(request)) {}
  /// The claims have failed if there was no result.
  ~ClaimReply() { Finish(std::map<std::string, Status>()); }
  ClaimReply(const ClaimReply&) = delete;
  ClaimReply& operator=(const ClaimReply&) = delete;

  /// Only the first call has an effect, and only before the call is canceled.
  template <class Results>
  void Finish(const Results& results) {
    reply_->Finish({}, [&] {
      Response response;
      FillClaims(request_, results, response);
      return Serialize(response);
    });
  }

 private:
  const std::shared_ptr<UnaryReply> reply_;
  const RequestedClaims request_;
};

template <class Results>
using ClaimMethod = void (ClaimService::*)(std::vector<ClaimKey>, ClaimCall,
                                           std::function<void(Results)>);

/// Returns the handler that passes a call on to a function of ClaimService.
template <class Request, class Response, class Results>
RpcHandler ClaimHandler(const DriverServer::Backend& backend, DriverRpc rpc,
                        ClaimMethod<Results> method) {
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
        std::move(valid), limits, [pending](const Results& results) { pending->Finish(results); });
  });
}

template <class Request, class Response>
RpcHandler PrepareHandler(const DriverServer::Backend& backend) {
  return ClaimHandler<Request, Response>(backend, DriverRpc::kNodePrepareResources,
                                         &ClaimService::Prepare);
}

template <class Request, class Response>
RpcHandler UnprepareHandler(const DriverServer::Backend& backend) {
  return ClaimHandler<Request, Response>(backend, DriverRpc::kNodeUnprepareResources,
                                         &ClaimService::Unprepare);
}

/// The numbers of the API, which are the same in both versions.
int HealthNumber(const std::optional<Health>& health) {
  if (!health) return ::v1::UNKNOWN;
  return *health == Health::kHealthy ? ::v1::HEALTHY : ::v1::UNHEALTHY;
}

/// Returns the message of a list that is sent now: the kubelet compares the time with its clock.
template <class Response>
grpc::ByteBuffer HealthBytes(const HealthList& list) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count();
  Response response;
  response.mutable_devices()->Reserve(static_cast<int>(list.size()));
  for (const auto& pool : list.pools) {
    for (const PublishedHealth& device : pool->devices) {
      auto& out = *response.add_devices();
      out.mutable_device()->set_pool_name(pool->pool);
      out.mutable_device()->set_device_name(device.device);
      out.set_health(static_cast<decltype(out.health())>(HealthNumber(device.health)));
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

}  // namespace

HealthStreams::Events HealthStreamEvents(std::shared_ptr<DriverObserver> observer) {
  return {.on_change = [observer](int open, bool) { observer->OnHealthStreams(open); },
          .on_ended =
              [observer](std::string_view code, std::chrono::nanoseconds lasted) {
                observer->OnRpc(DriverRpc::kNodeWatchResources, code, lasted);
              }};
}

RpcHandlers DriverServer::Handlers(const Backend& backend, HealthStreams& streams) {
  return {
      {"/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources",
       PrepareHandler<claims_v1::NodePrepareResourcesRequest,
                      claims_v1::NodePrepareResourcesResponse>(backend)},
      {"/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources",
       UnprepareHandler<claims_v1::NodeUnprepareResourcesRequest,
                        claims_v1::NodeUnprepareResourcesResponse>(backend)},
      {"/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodePrepareResources",
       PrepareHandler<claims_v1beta1::NodePrepareResourcesRequest,
                      claims_v1beta1::NodePrepareResourcesResponse>(backend)},
      {"/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodeUnprepareResources",
       UnprepareHandler<claims_v1beta1::NodeUnprepareResourcesRequest,
                        claims_v1beta1::NodeUnprepareResourcesResponse>(backend)},
      {"/v1.DRAResourceHealth/NodeWatchResources",
       HealthHandler<::v1::NodeWatchResourcesRequest, ::v1::NodeWatchResourcesResponse>(streams)},
      {"/v1alpha1.DRAResourceHealth/NodeWatchResources",
       HealthHandler<::v1alpha1::NodeWatchResourcesRequest, ::v1alpha1::NodeWatchResourcesResponse>(
           streams)},
  };
}

Result<std::unique_ptr<DriverServer>> DriverServer::Start(
    std::shared_ptr<RpcServer> rpc, std::string socket, const Backend& backend,
    std::shared_ptr<const HealthList> health) {
  std::unique_ptr<DriverServer> server(new DriverServer(backend));
  if (health) server->OfferHealth(std::move(health));
  server->server_ = TRY(
      UnixServer::Start(std::move(rpc), std::move(socket), Handlers(backend, server->streams_)));
  return server;
}

void DriverServer::BeginStop() {
  streams_.Close();
  server_->BeginStop();
}

DriverServer::~DriverServer() { streams_.Close(); }

}  // namespace patchbay
