// Input: a letter for the call of the kubelet, and its serialized message: (p)repare and
// (u)nprepare of v1, (P)repare and (U)nprepare of v1beta1.
//
// A service answers each claim, some with devices whose names are those of the request, some with
// an error, some not at all. Accepted claims must have names that are safe in paths. The response
// must be readable, with an entry for each claim of the request, and no other.

#include <set>

#include "base/escape.h"
#include "dra/claim_messages.h"
#include "draplugin_v1.pb.h"
#include "draplugin_v1beta1.pb.h"
#include "fuzz.h"
#include "model/object_name.h"
#include "quiet_protobuf.h"

using namespace patchbay;
namespace v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;

namespace {

constexpr std::size_t kMaxInput = 64 * 1024;

/// The result depends on the length of the name.
template <class Value>
void Answer(const ClaimKey& claim, const Value& value,
            std::map<std::string, Result<Value>>& results) {
  switch (claim.name.size() % 3) {
    case 0: results.emplace(claim.uid, value); break;
    case 1:
      results.emplace(claim.uid, Fail(ErrorKind::kNotFound, claim.name + " is missing"));
      break;
    default: break;  // no result
  }
}

PrepareResults AnswersOf(const RequestedClaims& claims, const PrepareResults&) {
  PrepareResults results;
  for (const ClaimKey& claim : claims.claims) {
    const std::vector<PreparedDevice> devices = {{.requests = {claim.name},
                                                  .pool = claim.namespace_name,
                                                  .device = claim.uid,
                                                  .cdi_devices = {"a.b/claim=" + claim.uid},
                                                  .share_id = claim.uid}};
    Answer(claim, devices, results);
  }
  return results;
}

UnprepareResults AnswersOf(const RequestedClaims& claims, const UnprepareResults&) {
  UnprepareResults results;
  for (const ClaimKey& claim : claims.claims) {
    if (claim.name.size() % 2 == 0) results.emplace(claim.uid, Status());
  }
  return results;
}

template <class Results, class Request, class Response>
void Call(std::string_view bytes) {
  Request request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  const auto claims = ReadClaims(request);
  if (!claims) {
    fuzz::Require(static_cast<std::size_t>(request.claims_size()) > kMaxClaimsPerCall);
    return;
  }
  std::set<std::string> uids;
  for (const auto& claim : request.claims()) uids.insert(claim.uid());
  for (const ClaimKey& claim : claims->claims) {
    fuzz::Require(IsUid(claim.uid) && claim.uid.find('/') == std::string::npos);
    fuzz::Require(IsPrintable(claim.namespace_name) && IsPrintable(claim.name));
  }
  Response response;
  FillClaims(*claims, AnswersOf(*claims, Results()), response);
  Response again;
  fuzz::Require(again.ParseFromString(response.SerializeAsString()));
  std::set<std::string> answered;
  for (const auto& [uid, entry] : again.claims()) answered.insert(uid);
  fuzz::Require(answered == uids);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > kMaxInput) return 0;
  const std::string_view bytes = fuzz::Text(data, size).substr(1);
  switch (data[0]) {
    case 'p':
      Call<PrepareResults, v1::NodePrepareResourcesRequest, v1::NodePrepareResourcesResponse>(
          bytes);
      break;
    case 'P':
      Call<PrepareResults, v1beta1::NodePrepareResourcesRequest,
           v1beta1::NodePrepareResourcesResponse>(bytes);
      break;
    case 'u':
      Call<UnprepareResults, v1::NodeUnprepareResourcesRequest, v1::NodeUnprepareResourcesResponse>(
          bytes);
      break;
    case 'U':
      Call<UnprepareResults, v1beta1::NodeUnprepareResourcesRequest,
           v1beta1::NodeUnprepareResourcesResponse>(bytes);
      break;
    default: return -1;
  }
  return 0;
}
