#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/snapshot.h"
#include "model/variables.h"

namespace patchbay {

/// One of what a container gets of a resource: a device, or one of its replicas.
struct Unit {
  const ListedDevice* listed = nullptr;
  Variables variables;  ///< of the device in the container; its ID is the advertised one
};

/// The units of one container, by the IDs that the kubelet sees, in any order, repeated ones once;
/// a unit's slot is its place. Views of all three arguments. Fails with kNotFound for an ID that is
/// not listed; the message names it.
Result<std::vector<Unit>> UnitsOf(const Snapshot& snapshot, std::span<const std::string> ids,
                                  std::string_view node_name);

}  // namespace patchbay
