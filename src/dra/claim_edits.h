#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cdi/cdi_spec.h"
#include "dra/claim_plan.h"
#include "dra/claim_service.h"
#include "inventory/allocation.h"

namespace patchbay {

/// The CDI file of a prepared claim: for the container runtime the changes to containers, and for
/// Patchbay the record of what is prepared. The file of a claim exists if and only if the claim is
/// prepared and its hooks have run. All functions are pure.

/// The devices of one resource that are prepared for a request of a claim.
struct PreparedRequest {
  std::string request;
  std::string resource;
  std::vector<PlannedDevice> devices;    ///< at least one
  std::vector<std::string> cdi_devices;  ///< "vendor/class=name", for the first of the devices
  bool operator==(const PreparedRequest&) const = default;
};

struct PreparedClaim {
  ClaimKey claim;
  std::vector<PreparedRequest> requests;
  bool operator==(const PreparedClaim&) const = default;
};

/// Returns the kind of the devices of claims, "<driver>/claim".
std::string ClaimKind(std::string_view driver);
/// Returns the name of the file of a claim. The UID must be IsUid.
std::string ClaimFileName(std::string_view driver, std::string_view uid);

/// Returns the device nodes, mounts and env of a response of Allocate in the terms of CDI. A mount
/// is recursive, as the kubelet makes it, and keeps its device nodes usable: without nosuid and
/// nodev. Annotations cannot be expressed; CDI devices are further names in the answer.
CdiEdits EditsOf(const ContainerResponse& response);

/// Returns the file of a claim. `responses` has the response of Allocate to the units of each
/// request of the plan. The name of a device has the UID of the claim and a hash of what it means,
/// so it never gets another meaning. Fails with kInvalid if the parameters of the claim set a
/// variable that the resource sets, if a container cannot have two of its requests, or if the file
/// would not be valid.
Result<CdiSpec> ClaimSpec(std::string_view driver, const ClaimPlan& plan,
                          std::span<const ContainerResponse> responses);

/// Returns what a container with both edits would get of one of them only: "the path /dev/ttyUSB0",
/// or "" if both have the same content for all paths and variables that they share.
std::string ClashOf(const CdiEdits& a, const CdiEdits& b);

/// Fails with kInvalid, naming both claims, if a container cannot have both. A pod has all claims
/// of one call.
Status CheckTogether(const ClaimKey& a, const CdiSpec& edits_of_a, const ClaimKey& b,
                     const CdiSpec& edits_of_b);

/// Returns what ClaimSpec recorded for the claim with this UID. Fails with kInvalid for any other
/// file.
Result<PreparedClaim> ReadClaimSpec(const CdiSpec& spec, std::string_view driver,
                                    std::string_view uid);

/// Returns the answer to the kubelet: an entry for each device, in order. The first device of a
/// request has the CDI devices of all of them, because templates can join several devices.
std::vector<PreparedDevice> AnswerFor(const PreparedClaim& prepared);

/// Returns the devices for PlanClaims.
std::vector<PreparedUse> UsesOf(const PreparedClaim& prepared);

/// Returns whether a claim is prepared with the devices that are allocated to it, for the same
/// requests and shares.
bool IsAllocatedAsPrepared(const ResourceClaim& claim, const PreparedClaim& prepared);

}  // namespace patchbay
