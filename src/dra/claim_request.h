#pragma once

#include <string>

#include "base/result.h"
#include "dra/claim.h"
#include "kube/api_request.h"

namespace patchbay {

/// Returns the request for a ResourceClaim. Pure.
ApiRequest ClaimRequestFor(const ClaimKey& claim);

/// Returns the JSON of the claim. Fails with kNotFound if the API server has none of this name, and
/// otherwise with kUnavailable. Pure.
Result<std::string> ClaimTextOf(const ApiResult& result);

}  // namespace patchbay
