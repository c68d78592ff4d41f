#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dra/claim.h"
#include "kube/api_request.h"

namespace patchbay {

/// The maximum number of variables in the parameters of a claim, and of bytes of a value.
inline constexpr std::size_t kMaxConfigEnv = 64;
inline constexpr std::size_t kMaxConfigEnvValue = 4096;

/// Returns the request for a ResourceClaim. Pure.
ApiRequest RequestForClaim(const ClaimKey& claim);

/// Returns the JSON of the claim. Fails with kNotFound if the API server has none of this name, and
/// otherwise with kUnavailable. Pure.
Result<std::string> ClaimTextOf(const ApiResult& result);

/// Parses a ResourceClaim of the API server, which is untrusted. Only devices and parameters of
/// `driver` are read. Unknown fields of the claim are ignored, because new releases of Kubernetes
/// add some. The parameters are strict, so that a misspelled key is noticed: their only key is
/// `env`, an object of strings.
///
/// Fails with kInvalid; the message names the field or the key, and is printable. Pure.
Result<ResourceClaim> ParseClaim(std::string_view json, std::string_view driver);

}  // namespace patchbay
