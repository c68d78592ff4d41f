#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/escape.h"
#include "base/format.h"
#include "base/result.h"
#include "dra/claim_service.h"

namespace patchbay {

/// Conversion between the messages of the kubelet and values. Templates, because the messages of
/// all versions of the API have the same members.

/// The maximum number of claims of one call. The kubelet calls for the claims of one pod. The
/// response for as many claims with 32 devices fits into the 4 MiB that the kubelet accepts.
inline constexpr std::size_t kMaxClaimsPerCall = 256;

/// The claims of a request.
struct RequestedClaims {
  std::vector<ClaimKey> claims;                 ///< without duplicates
  std::map<std::string, std::string> rejected;  ///< the reason by UID, for the others

  /// Adds one claim, or rejects it.
  void Add(ClaimKey claim);
};

/// Returns the claims. Fails with kInvalid if there are too many.
template <class Request>
Result<RequestedClaims> ReadClaims(const Request& request) {
  const auto size = static_cast<std::size_t>(request.claims_size());
  if (size > kMaxClaimsPerCall) {
    return Fail(ErrorKind::kInvalid,
                Format("the call has {} claims, and at most {} are supported; use fewer claims in "
                       "one pod",
                       size, kMaxClaimsPerCall));
  }
  RequestedClaims read;
  read.claims.reserve(size);
  for (const auto& claim : request.claims()) {
    read.Add({claim.uid(), claim.namespace_(), claim.name()});
  }
  return read;
}

/// Returns the text of an error for the events of a pod: printable, bounded and never empty,
/// because an empty text means success.
std::string ClaimErrorText(const Error& error);

/// Returns the error of a claim without a result.
Error MissingClaimResult();

/// Returns whether all texts are UTF-8. The kubelet discards a response that has others.
bool IsUtf8(const PreparedDevice& device);

/// Sets the error of a claim in the response, or its devices if the message has them.
template <class Message>
void FillClaim(const ClaimResults::mapped_type& result, Message& message) {
  if (!result) return message.set_error(ClaimErrorText(result.error()));
  if constexpr (requires { message.add_devices(); }) {
    for (const PreparedDevice& device : *result) {
      if (!IsUtf8(device)) {
        message.clear_devices();
        return message.set_error(
            Format("the device {} has a name that is not UTF-8", Printable(device.device)));
      }
      auto& out = *message.add_devices();
      for (const std::string& name : device.requests) out.add_request_names(name);
      out.set_pool_name(device.pool);
      out.set_device_name(device.device);
      for (const std::string& id : device.cdi_devices) out.add_cdi_device_ids(id);
      if constexpr (requires { out.set_share_id(""); }) {
        if (device.share_id) out.set_share_id(*device.share_id);
      }
    }
  }
}

/// Fills the response to a request: each of its claims has an entry, and no other.
template <class Response>
void FillClaims(const RequestedClaims& request, const ClaimResults& results, Response& response) {
  auto& entries = *response.mutable_claims();
  for (const auto& [uid, reason] : request.rejected) entries[uid].set_error(reason);
  for (const ClaimKey& claim : request.claims) {
    const auto result = results.find(claim.uid);
    if (result == results.end()) {
      entries[claim.uid].set_error(ClaimErrorText(MissingClaimResult()));
    } else {
      FillClaim(result->second, entries[claim.uid]);
    }
  }
}

}  // namespace patchbay
