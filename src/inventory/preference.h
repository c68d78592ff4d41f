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

/// The `size` units the container had best get, by the resource's preferred_allocation: packed
/// takes them from as few NUMA nodes as can be, spread from as many distinct devices. Those it must
/// include come first. Never an ID that is not available; fewer than `size` where there are not as
/// many, and none where the resource has no preference. Pure, the same for any order of the IDs.
std::vector<std::string> Prefer(const Snapshot& snapshot, const PreferenceRequest& request);

}  // namespace patchbay
