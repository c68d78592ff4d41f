// Input: a letter for the call of the kubelet, and its bytes: (p)repare and (u)nprepare of v1,
// (P)repare and (U)nprepare of v1beta1, (h)ealth of v1 and (H)ealth of v1alpha1, (g)et info, and
// the (r)eport about a registration.
//
// The calls go to the handlers of the driver directly, without a server. A service answers each
// claim, some with devices whose names are those of the request, some with an error, some not at
// all. Accepted claims must have names that are safe in paths. The response must be readable, with
// an entry for each claim of the request, and no other. The reason of a report must be printable.

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/escape.h"
#include "dra/claim_messages.h"
#include "dra/driver_handlers.h"
#include "drahealth_v1.pb.h"
#include "drahealth_v1alpha1.pb.h"
#include "draplugin_v1.pb.h"
#include "draplugin_v1beta1.pb.h"
#include "fake_call.h"
#include "fuzz.h"
#include "model/object_name.h"
#include "pluginregistration.pb.h"
#include "quiet_protobuf.h"

using namespace patchbay;
namespace claims_v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace claims_v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;

namespace {

constexpr std::size_t kMaxInput = 64 * 1024;

class Claims final : public ClaimService {
 public:
  void Prepare(std::vector<ClaimKey> claims, ClaimCall,
               std::function<void(ClaimResults)> done) override {
    ClaimResults results;
    for (const ClaimKey& claim : claims) {
      RequireSafe(claim);
      const std::vector<PreparedRequest> requests = {
          {.request = claim.name,
           .devices = {{.pool = claim.namespace_name, .device = claim.uid, .share_id = claim.uid}},
           .cdi_devices = {"a.b/claim=" + claim.uid}}};
      switch (claim.name.size() % 3) {
        case 0: results.emplace(claim.uid, requests); break;
        case 1:
          results.emplace(claim.uid, Fail(ErrorKind::kNotFound, claim.name + " is missing"));
          break;
        default: break;  // no result
      }
    }
    done(std::move(results));
  }

  void Unprepare(std::vector<ClaimKey> claims, ClaimCall,
                 std::function<void(ClaimResults)> done) override {
    ClaimResults results;
    for (const ClaimKey& claim : claims) {
      RequireSafe(claim);
      if (claim.name.size() % 2 == 0) results.emplace(claim.uid, std::vector<PreparedRequest>());
    }
    if (claims.size() != 3) done(std::move(results));  // otherwise the call is dropped
  }

 private:
  static void RequireSafe(const ClaimKey& claim) {
    fuzz::Require(IsUid(claim.uid) && claim.uid.find('/') == std::string::npos);
    fuzz::Require(IsPrintable(claim.namespace_name) && IsPrintable(claim.name));
  }
};

class Observer final : public DriverObserver {
 public:
  void OnRpc(DriverRpc, std::string_view) override { ++calls; }
  void OnHealthStreams(int open) override { streams = open; }
  void OnClaimPrepare(const std::string&, bool, std::chrono::nanoseconds) override {}
  void OnClaimUnprepare(const std::string&, bool) override {}

  int calls = 0;
  int streams = 0;
};

/// The health of two devices.
std::shared_ptr<const HealthList> TwoDevices() {
  PoolHealth pool{
      .pool = "node-1/example.com/serial",
      .devices = {{.device = "tty-0", .health = Health::kHealthy, .message = ""},
                  {.device = "tty-1", .health = Health::kUnhealthy, .message = "not probed"}}};
  return std::make_shared<const HealthList>(HealthList{std::move(pool)});
}

/// The handlers of both sockets of one driver, without a server.
struct Driver {
  Driver() {
    handlers.merge(RegistrationHandlers(backend, "/plugins/patchbay.dev/dra.sock",
                                        [this](const Status& status) {
                                          if (!status) fuzz::RequireMessage(status.error().message);
                                          reported = status;
                                        }));
    streams.Offer(health);
  }
  ~Driver() { streams.Close(); }

  const std::shared_ptr<Observer> observer = std::make_shared<Observer>();
  const std::shared_ptr<const HealthList> health = TwoDevices();
  const DriverBackend backend{
      .driver = "patchbay.dev", .claims = std::make_shared<Claims>(), .observer = observer};
  HealthStreams streams{HealthStreamEvents(observer, [](int) {})};
  RpcHandlers handlers = DriverHandlers(backend, streams);
  Status reported;
};

template <class Message>
std::optional<Message> Parsed(std::string_view bytes) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return std::nullopt;
  return message;
}

template <class Request, class Response>
bool CallClaims(Driver& driver, std::string_view method, std::string_view bytes) {
  fuzz::FakeCall call(bytes);
  driver.handlers.find(method)->second.run(call);
  const auto response = call.Read<Response>();
  const auto request = Parsed<Request>(bytes);
  const bool is_taken =
      request && static_cast<std::size_t>(request->claims_size()) <= kMaxClaimsPerCall;
  fuzz::Require(response.has_value() == is_taken);
  if (!response) return request.has_value();
  std::set<std::string> uids;
  for (const auto& claim : request->claims()) uids.insert(claim.uid());
  std::set<std::string> answered;
  for (const auto& [uid, entry] : response->claims()) answered.insert(uid);
  fuzz::Require(answered == uids);
  return true;
}

/// Calls return whether the request was readable. Two lists are offered while the first one is
/// sent: only the newer one follows.
template <class Response>
bool WatchHealth(Driver& driver, std::string_view method, std::string_view bytes) {
  fuzz::FakeCall call(bytes);
  driver.handlers.find(method)->second.run(call);
  if (call.is_finished()) {
    fuzz::Require(!call.status().ok() && driver.observer->streams == 0);
    fuzz::RequireMessage(call.status().error_message());
    return false;
  }
  fuzz::Require(driver.observer->streams == 1);
  driver.streams.Offer(driver.health);
  driver.streams.Offer(driver.health);
  call.EndWrite();
  call.EndWrite();
  fuzz::Require(call.written().size() == 2);
  for (const grpc::ByteBuffer& bytes_of_list : call.written()) {
    Response response;
    fuzz::Require(Parse(bytes_of_list, response));
    fuzz::Require(response.devices_size() == 2);
  }
  call.Cancel();
  return true;
}

bool GetInfo(Driver& driver, std::string_view bytes) {
  fuzz::FakeCall call(bytes);
  driver.handlers.at("/pluginregistration.Registration/GetInfo").run(call);
  const auto info = call.Read<pluginregistration::PluginInfo>();
  fuzz::Require(info.has_value() == Parsed<pluginregistration::InfoRequest>(bytes).has_value());
  if (info) fuzz::Require(info->name() == "patchbay.dev" && info->supported_versions_size() == 4);
  return info.has_value();
}

bool Report(Driver& driver, std::string_view bytes) {
  const auto report = Parsed<pluginregistration::RegistrationStatus>(bytes);
  fuzz::FakeCall call(bytes);
  driver.handlers.at("/pluginregistration.Registration/NotifyRegistrationStatus").run(call);
  const auto response = call.Read<pluginregistration::RegistrationStatusResponse>();
  fuzz::Require(response.has_value() == report.has_value());
  if (report) fuzz::Require(driver.reported.has_value() == report->plugin_registered());
  return report.has_value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > kMaxInput) return 0;
  static Driver driver;
  const std::string_view bytes = fuzz::Text(data, size).substr(1);
  const int calls = driver.observer->calls;
  bool is_readable = false;
  switch (data[0]) {
    case 'p':
      is_readable = CallClaims<claims_v1::NodePrepareResourcesRequest,
                               claims_v1::NodePrepareResourcesResponse>(
          driver, "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources", bytes);
      break;
    case 'P':
      is_readable = CallClaims<claims_v1beta1::NodePrepareResourcesRequest,
                               claims_v1beta1::NodePrepareResourcesResponse>(
          driver, "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodePrepareResources", bytes);
      break;
    case 'u':
      is_readable = CallClaims<claims_v1::NodeUnprepareResourcesRequest,
                               claims_v1::NodeUnprepareResourcesResponse>(
          driver, "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources", bytes);
      break;
    case 'U':
      is_readable = CallClaims<claims_v1beta1::NodeUnprepareResourcesRequest,
                               claims_v1beta1::NodeUnprepareResourcesResponse>(
          driver, "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodeUnprepareResources", bytes);
      break;
    case 'h':
      is_readable = WatchHealth<v1::NodeWatchResourcesResponse>(
          driver, "/v1.DRAResourceHealth/NodeWatchResources", bytes);
      break;
    case 'H':
      is_readable = WatchHealth<v1alpha1::NodeWatchResourcesResponse>(
          driver, "/v1alpha1.DRAResourceHealth/NodeWatchResources", bytes);
      break;
    case 'g': is_readable = GetInfo(driver, bytes); break;
    case 'r': is_readable = Report(driver, bytes); break;
    default: return -1;
  }
  // A request that is not readable does not reach the driver.
  fuzz::Require(driver.observer->calls == calls + (is_readable ? 1 : 0));
  fuzz::Require(driver.observer->streams == 0);
  return 0;
}
