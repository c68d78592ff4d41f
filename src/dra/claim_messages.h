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
struct ClaimsOfCall {
  std::vector<ClaimKey> claims;                 ///< without duplicates
  std::map<std::string, std::string> rejected;  ///< the reason by UID, for the others

  /// Adds one claim, or rejects it.
  void Add(ClaimKey claim);
};

/// Returns the claims. Fails with kInvalid if there are too many.
template <class Request>
Result<ClaimsOfCall> ReadClaims(const Request& request) {
  const auto size = static_cast<std::size_t>(request.claims_size());
  if (size > kMaxClaimsPerCall) {
    return Fail(ErrorKind::kInvalid,
                Format("the call has {} claims, and at most {} are supported; use fewer claims in "
                       "one pod",
                       size, kMaxClaimsPerCall));
  }
  ClaimsOfCall read;
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
bool IsUtf8(const PreparedRequest& request);

/// Sets the error of a claim in the response, or its devices if the message has them. The first
/// device of a request has the CDI devices of all of them, because templates can join devices.
template <class Message>
void FillClaim(const ClaimResults::mapped_type& result, Message& message) {
  if (!result) return message.set_error(ClaimErrorText(result.error()));
  if constexpr (requires { message.add_devices(); }) {
    for (const PreparedRequest& request : *result) {
      if (!IsUtf8(request)) {
        message.clear_devices();
        return message.set_error(Format("a device of the request {} has a name that is not UTF-8",
                                        Printable(request.request)));
      }
      for (const PreparedDevice& device : request.devices) {
        auto& out = *message.add_devices();
        out.add_request_names(request.request);
        out.set_pool_name(device.pool);
        out.set_device_name(device.device);
        if (&device == &request.devices.front()) {
          out.mutable_cdi_device_ids()->Assign(request.cdi_devices.begin(),
                                               request.cdi_devices.end());
        }
        if constexpr (requires { out.set_share_id(""); }) {
          if (!device.share_id.empty()) out.set_share_id(device.share_id);
        }
      }
    }
  }
}

/// Fills the response to a request: each of its claims has an entry, and no other.
template <class Response>
void FillClaims(const ClaimsOfCall& request, const ClaimResults& results, Response& response) {
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
