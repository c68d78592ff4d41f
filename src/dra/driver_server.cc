// The messages of the versions differ only in their types, so each service is a template. A call
// about claims is finished by the ClaimService, or when the last copy of its `done` is destroyed.
// It does not refer to the server, which can end before it.

#include "dra/driver_server.h"

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <utility>
#include <vector>

#include "dra/claim_messages.h"
#include "dra/reply_report.h"
#include "drahealth_v1.grpc.pb.h"
#include "drahealth_v1alpha1.grpc.pb.h"
#include "draplugin_v1.grpc.pb.h"
#include "draplugin_v1beta1.grpc.pb.h"
#include "rpc/unary_reply.h"

namespace patchbay {
namespace {

namespace dra = k8s::io::kubelet::pkg::apis::dra;

/// Enough for kMaxClaimsPerCall claims with the longest names.
constexpr int kMaxClaimRequestBytes = 256 * 1024;
/// The time that the kubelet gives a call, for callers that set no deadline.
constexpr std::chrono::seconds kMaxClaimCallTime{45};

std::chrono::steady_clock::time_point DeadlineOf(const grpc::CallbackServerContext& context) {
  const auto now = std::chrono::system_clock::now();
  const auto by = std::min(context.deadline(), now + kMaxClaimCallTime);
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(by - now);
}

/// One pending call about claims, which owns its reply.
template <class Response>
class ClaimReply {
 public:
  ClaimReply(std::shared_ptr<UnaryReply> reply, RequestedClaims request, Response* response)
      : reply_(std::move(reply)), request_(std::move(request)), response_(response) {}
  /// The claims have failed if there was no result.
  ~ClaimReply() { Finish(std::map<std::string, Status>()); }
  ClaimReply(const ClaimReply&) = delete;
  ClaimReply& operator=(const ClaimReply&) = delete;

  /// Only the first call has an effect, and only before the call is canceled.
  template <class Results>
  void Finish(const Results& results) {
    reply_->Finish({}, [&] { FillClaims(request_, results, *response_); });
  }

 private:
  const std::shared_ptr<UnaryReply> reply_;
  const RequestedClaims request_;
  Response* const response_;  ///< owned by gRPC; valid until the reply is finished
};

struct ClaimsV1 {
  using Plugin = dra::v1::DRAPlugin;
  using PrepareRequest = dra::v1::NodePrepareResourcesRequest;
  using PrepareResponse = dra::v1::NodePrepareResourcesResponse;
  using UnprepareRequest = dra::v1::NodeUnprepareResourcesRequest;
  using UnprepareResponse = dra::v1::NodeUnprepareResourcesResponse;
};
struct ClaimsV1beta1 {
  using Plugin = dra::v1beta1::DRAPlugin;
  using PrepareRequest = dra::v1beta1::NodePrepareResourcesRequest;
  using PrepareResponse = dra::v1beta1::NodePrepareResourcesResponse;
  using UnprepareRequest = dra::v1beta1::NodeUnprepareResourcesRequest;
  using UnprepareResponse = dra::v1beta1::NodeUnprepareResourcesResponse;
};

/// DRAPlugin of one version.
template <class Api>
class ClaimCalls final : public Api::Plugin::CallbackService {
 public:
  explicit ClaimCalls(const DriverServer::Backend& backend) : backend_(backend) {}

  grpc::ServerUnaryReactor* NodePrepareResources(grpc::CallbackServerContext* context,
                                                 const typename Api::PrepareRequest* request,
                                                 typename Api::PrepareResponse* response) override {
    return Run<PrepareResults>(DriverRpc::kNodePrepareResources, &ClaimService::Prepare, *context,
                               *request, response);
  }

  grpc::ServerUnaryReactor* NodeUnprepareResources(
      grpc::CallbackServerContext* context, const typename Api::UnprepareRequest* request,
      typename Api::UnprepareResponse* response) override {
    return Run<UnprepareResults>(DriverRpc::kNodeUnprepareResources, &ClaimService::Unprepare,
                                 *context, *request, response);
  }

 private:
  template <class Results, class Method, class Request, class Response>
  grpc::ServerUnaryReactor* Run(DriverRpc rpc, Method method,
                                const grpc::CallbackServerContext& context, const Request& request,
                                Response* response) {
    std::stop_source cancel;
    const auto reply =
        UnaryReply::Begin(ReportTo(backend_.observer, rpc), backend_.pending, backend_.driver,
                          [cancel]() mutable { cancel.request_stop(); });
    auto claims = ReadClaims(request);
    if (!claims) {
      reply->Finish(Failure(std::move(claims).error()));
      return reply->reactor();
    }
    std::vector<ClaimKey> valid = claims->claims;
    const auto call = std::make_shared<ClaimReply<Response>>(reply, *std::move(claims), response);
    if (!valid.empty()) {
      (backend_.claims.get()->*method)(std::move(valid), {DeadlineOf(context), cancel.get_token()},
                                       [call](const Results& results) { call->Finish(results); });
    }
    return reply->reactor();
  }

  const DriverServer::Backend backend_;
};

struct HealthV1 {
  using Health = ::v1::DRAResourceHealth;
  using Request = ::v1::NodeWatchResourcesRequest;
  using Response = ::v1::NodeWatchResourcesResponse;
};
struct HealthV1alpha1 {
  using Health = ::v1alpha1::DRAResourceHealth;
  using Request = ::v1alpha1::NodeWatchResourcesRequest;
  using Response = ::v1alpha1::NodeWatchResourcesResponse;
};

/// DRAResourceHealth of one version.
template <class Api>
class HealthCalls final : public Api::Health::CallbackService {
 public:
  explicit HealthCalls(HealthStreams& streams) : streams_(streams) {}

  grpc::ServerWriteReactor<typename Api::Response>* NodeWatchResources(
      grpc::CallbackServerContext*, const typename Api::Request*) override {
    return streams_.Open<typename Api::Response>();
  }

 private:
  HealthStreams& streams_;
};

}  // namespace

DriverServer::DriverServer(const Backend& backend) : streams_(backend.observer) {
  services_.push_back(std::make_unique<ClaimCalls<ClaimsV1>>(backend));
  services_.push_back(std::make_unique<ClaimCalls<ClaimsV1beta1>>(backend));
  services_.push_back(std::make_unique<HealthCalls<HealthV1>>(streams_));
  services_.push_back(std::make_unique<HealthCalls<HealthV1alpha1>>(streams_));
}

Result<std::unique_ptr<DriverServer>> DriverServer::Start(
    std::string socket, const Backend& backend, std::shared_ptr<const HealthList> health) {
  std::unique_ptr<DriverServer> server(new DriverServer(backend));
  if (health) server->OfferHealth(std::move(health));
  std::vector<grpc::Service*> services;
  services.reserve(server->services_.size());
  for (const auto& service : server->services_) services.push_back(service.get());
  server->server_ = TRY(UnixServer::Start(std::move(socket), services, kMaxClaimRequestBytes));
  return server;
}

void DriverServer::BeginStop() {
  streams_.Close();
  server_->BeginStop();
}

DriverServer::~DriverServer() { streams_.Close(); }

}  // namespace patchbay
