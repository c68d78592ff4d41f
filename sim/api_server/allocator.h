#pragma once

#include <functional>
#include <string>

#include "sim/api_server/api_error.h"
#include "sim/api_server/object_store.h"

namespace patchbay::api_sim {

/// Chooses devices for a claim as the scheduler does, and returns its `status.allocation`: for each
/// request the first devices that fit, in order of slices and devices, with a share ID and the
/// consumed capacity for a device with allowMultipleAllocations, and the configurations
/// of the claim. Only devices of complete pools on the node are chosen, without taints that the
/// request does not tolerate, and not in use by another claim.
///
/// A simple stand-in for the scheduler: selectors are limited to the form of DeviceSelector, since
/// CEL is out of scope; constraints are rejected; and an earlier request does not give up a device
/// that only a later one can use. `new_uid` returns share IDs.
///
/// Fails with kInvalid for a claim that it does not support, with kNotFound for an unknown class,
/// and with kPrecondition if there are not enough devices. The message names the request.
Result<Json> Allocate(const Json& claim, const std::string& node, const ObjectStore& store,
                      const std::function<std::string()>& new_uid);

}  // namespace patchbay::api_sim
