#pragma once

#include <string>

#include "api_server_sim/api.h"
#include "base/result.h"

namespace patchbay::api_sim {

/// Allocates devices to a claim for a pod on a node, see allocator.h, and writes the claim as the
/// scheduler does: a finalizer, so that a claim in use is not deleted, and its status. Keeps an
/// allocation that the claim has. Fails with kNotFound if the claim does not exist, with
/// kPrecondition or kInvalid if the API rejects the result, and otherwise like Allocate.
Status AllocateClaim(Api& api, const std::string& namespace_name, const std::string& name,
                     const std::string& node, Api::Time now);

/// Removes status and finalizer of a claim, as the controller of claims does when no pod uses it
/// any more. A claim that is marked as deleted is then removed. Fails with kNotFound if the claim
/// does not exist.
Status DeallocateClaim(Api& api, const std::string& namespace_name, const std::string& name,
                       Api::Time now);

}  // namespace patchbay::api_sim
