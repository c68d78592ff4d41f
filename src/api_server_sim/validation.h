#pragma once

#include <cstddef>
#include <vector>

#include "api_server_sim/api_error.h"
#include "api_server_sim/kinds.h"

namespace patchbay::api_sim {

/// The limits of resource.k8s.io/v1.
inline constexpr std::size_t kMaxDevices = 128;
inline constexpr std::size_t kMaxDevicesWithFeatures = 64;  ///< taints, counters, list attributes
inline constexpr std::size_t kMaxAttributesAndCapacities = 32;
inline constexpr std::size_t kMaxAttributeValues = 48;  ///< with the elements of lists
inline constexpr std::size_t kMaxAttributeBytes = 64;
inline constexpr std::size_t kMaxDriverBytes = 63;
inline constexpr std::size_t kMaxIdentifierBytes = 32;
inline constexpr std::size_t kMaxPoolBytes = 253;
inline constexpr std::size_t kMaxTaints = 16;
inline constexpr std::size_t kMaxCounterSets = 8;
inline constexpr std::size_t kMaxCounters = 32;
inline constexpr std::size_t kMaxConsumedSets = 2;
inline constexpr std::size_t kMaxBindingConditions = 4;
inline constexpr std::size_t kMaxRequests = 32;
inline constexpr std::size_t kMaxSubRequests = 8;
inline constexpr std::size_t kMaxResults = 32;
inline constexpr std::size_t kMaxReservedFor = 256;
inline constexpr std::size_t kMaxSelectors = 32;
inline constexpr std::size_t kMaxConfigs = 32;
inline constexpr std::size_t kMaxOpaqueBytes = 10 * 1024;

/// The part of an object that a write changes.
enum class WriteTarget { kObject, kStatus };

/// Returns the reasons for which the server rejects an object with 422 Invalid, in order of its
/// fields; empty if it is valid. `object` is decoded (shapes.h) and has its defaults and its
/// generated name; `old` is the stored object of an update, or null.
///
/// A CEL expression is only checked for its length, as this server does not evaluate CEL.
/// Fields that only other drivers have, such as node selectors, are not checked.
std::vector<Cause> Validate(const KindInfo& info, const Json& object, const Json* old,
                            WriteTarget target = WriteTarget::kObject);

}  // namespace patchbay::api_sim
