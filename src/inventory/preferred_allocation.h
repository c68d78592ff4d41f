#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/snapshot.h"

namespace patchbay {

/// A request of the kubelet before it chooses devices for one container; IDs as advertised, in any
/// order.
struct PreferenceRequest {
  std::vector<std::string> available;
  std::vector<std::string> must_include;
  std::size_t size = 0;
};

/// Returns the preferred `size` units: first those that must be included, then by the resource's
/// `preferred_allocation`. Packed uses as few NUMA nodes as possible and, on each node, as few
/// devices as possible; units on an unknown node come last. Spread uses as many devices as
/// possible, the least used first. IDs that are not available are never returned, nor, unless they
/// must be included, IDs that can no longer be allocated: the result may be shorter than `size`. It
/// is empty if the resource has no preference. Pure; independent of the order of the IDs; O(n log
/// n).
std::vector<std::string> ChoosePreferred(const Snapshot& snapshot,
                                         const PreferenceRequest& request);

}  // namespace patchbay
