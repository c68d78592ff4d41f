#include "dra/claim_request.h"

#include "base/format.h"

namespace patchbay {
namespace {

/// The kubelet waits 45 seconds for all of a call, of which hooks can need 40.
constexpr std::chrono::seconds kClaimDeadline{10};

}  // namespace

ApiRequest ClaimRequestFor(const ClaimKey& claim) {
  return {.verb = ApiVerb::kGet,
          .target = Format("/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims/{}",
                           EncodeForUrl(claim.namespace_name), EncodeForUrl(claim.name)),
          .deadline = kClaimDeadline};
}

Result<std::string> ClaimTextOf(const ApiResult& result) {
  if (result) return result->body;
  const ApiError& error = result.error();
  return Fail(IsNotFound(error) ? ErrorKind::kNotFound : ErrorKind::kUnavailable, error.message);
}

}  // namespace patchbay
