#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/snapshot.h"
#include "model/variables.h"

namespace patchbay {

/// A unit of a resource that a container gets: a device, or one replica of it.
struct Unit {
  const ListedDevice* listed = nullptr;
  Variables variables;  ///< of the device in the container; its ID is the advertised one
};

/// Returns the units with these advertised IDs, in any order, duplicates once; the slot of a unit
/// is its index after `first_slot`. The result refers to all three arguments. Fails with kNotFound
/// for an ID that is not listed; the message names it.
Result<std::vector<Unit>> FindUnits(const Snapshot& snapshot, std::span<const std::string> ids,
                                    std::string_view node_name, std::int64_t first_slot = 0);

}  // namespace patchbay
