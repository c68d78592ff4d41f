#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cdi/cdi_spec.h"
#include "dra/claim.h"
#include "inventory/allocation.h"

namespace patchbay {

/// The CDI file of a prepared claim, with the changes to containers that the container runtime
/// makes. All functions are pure.

/// Returns the kind of the devices of claims, "<driver>/claim".
std::string ClaimKind(std::string_view driver);
/// Returns the name of the file of a claim. The UID must be IsUid.
std::string ClaimFileName(std::string_view driver, std::string_view uid);

/// Returns the device nodes, mounts and env of a response of Allocate in the terms of CDI. A mount
/// is recursive, as the kubelet makes it, and keeps its device nodes usable: without nosuid and
/// nodev. Annotations cannot be expressed; CDI devices are further names in the answer.
CdiEdits EditsOf(const ContainerResponse& response);

/// The parts of a prepared claim for the container runtime and for the kubelet.
struct ClaimSpec {
  CdiSpec file;
  PreparedClaim record;  ///< the plan, with the CDI devices and the text of the file
};

/// Returns the file and the record of a claim. `responses` has the response of Allocate to the
/// units of each request of the plan; the first CDI device of each request with metadata mounts its
/// file from `metadata_dir`. The name of a device has the UID of the claim and a hash of
/// what it means, because a runtime may cache devices by name: it never gets another meaning. Fails
/// with kInvalid if the parameters of the claim set a variable that the resource sets, if a
/// container cannot have two of its requests, or if the file would be too large.
Result<ClaimSpec> MakeClaimSpec(std::string_view driver, PreparedClaim plan,
                                std::span<const ContainerResponse> responses,
                                std::string_view metadata_dir = "");

/// Returns why device nodes in the file of a claim are not those of the responses that it would get
/// now: a node of the host has other numbers; "" if there is none. Pure.
std::string MovedNode(const CdiSpec& file, std::span<const ContainerResponse> now);

/// Returns what a container with both edits would get of one of them only, such as "the path
/// /dev/ttyUSB0"; "" if both have the same content for all paths and variables that they share.
std::string ClashOf(const CdiEdits& a, const CdiEdits& b);

/// Fails with kInvalid, naming both claims, if a container cannot have both. A pod has all claims
/// of one call.
Status CheckTogether(const ClaimKey& a, const CdiSpec& edits_of_a, const ClaimKey& b,
                     const CdiSpec& edits_of_b);

}  // namespace patchbay
