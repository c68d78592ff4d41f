#include "dra/claim_messages.h"

#include <algorithm>

#include "model/object_name.h"

namespace patchbay {
namespace {

constexpr std::size_t kMaxClaimError = 1000;

/// Returns why a claim cannot be valid, or an empty text.
std::string ProblemWithClaim(const ClaimKey& claim) {
  if (!IsUid(claim.uid)) return "the UID of the claim is not valid";
  if (!IsDnsSubdomain(claim.name)) {
    return Format("the claim {} has a name that is not valid", claim.uid);
  }
  if (!IsDnsLabel(claim.namespace_name)) {
    return Format("the claim {} has a namespace that is not valid", claim.uid);
  }
  return "";
}

}  // namespace

void ClaimsOfCall::Add(ClaimKey claim) {
  if (std::string problem = ProblemWithClaim(claim); !problem.empty()) {
    std::erase_if(claims, [&](const ClaimKey& other) { return other.uid == claim.uid; });
    rejected.insert_or_assign(std::move(claim.uid), std::move(problem));
    return;
  }
  if (rejected.contains(claim.uid)) return;
  const auto same = std::find_if(claims.begin(), claims.end(),
                                 [&](const ClaimKey& other) { return other.uid == claim.uid; });
  if (same == claims.end()) {
    claims.push_back(std::move(claim));
  } else if (*same != claim) {
    rejected.emplace(claim.uid, Format("the call has two claims with the UID {}", claim.uid));
    claims.erase(same);
  }
}

std::string ClaimErrorText(const Error& error) {
  if (error.message.empty()) return "failed without a reason; check the log of Patchbay";
  return Truncate(error.message, kMaxClaimError);
}

Error MissingClaimResult() {
  return {ErrorKind::kUnavailable,
          "the claim was not processed; the kubelet will try again, and if this continues, check "
          "the log of Patchbay"};
}

bool IsUtf8(const PreparedRequest& request) {
  const auto is_utf8 = [](const std::string& text) { return IsUtf8(text); };
  return IsUtf8(request.request) && std::ranges::all_of(request.cdi_devices, is_utf8) &&
         std::ranges::all_of(request.devices, [](const PreparedDevice& device) {
           return IsUtf8(device.pool) && IsUtf8(device.device) && IsUtf8(device.share_id);
         });
}

}  // namespace patchbay
