#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/snapshot.h"

namespace patchbay {

/// What the kubelet asks before it chooses devices for one container; IDs as advertised, in any
/// order.
struct PreferenceRequest {
  std::vector<std::string> available;
  std::vector<std::string> must_include;
  std::size_t size = 0;
};

/// The `size` units the container had best get: first those it must include, then by the resource's
/// preferred_allocation. Packed takes them from as few NUMA nodes as can be, and there from as few
/// devices; what lies on no known node comes last. Spread takes them from as many devices as can
/// be, the least used first. Never an ID that is not available or, unless it must be included, that
/// cannot be allocated any more: then there may be fewer than `size`. None where the resource has
/// no preference. Pure, the same for any order of the IDs; n log n.
std::vector<std::string> Prefer(const Snapshot& snapshot, const PreferenceRequest& request);

}  // namespace patchbay
