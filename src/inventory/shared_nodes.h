#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/snapshot.h"

namespace patchbay {

/// Device nodes that several resources hand out. Between them the kubelet cannot tell that two
/// devices are one, and may give it out twice.
struct SharedNodes {
  struct Pair {
    std::size_t first = 0;  ///< of the snapshots, in their order
    std::size_t second = 0;
    std::string path;  ///< one such node
  };
  std::vector<std::size_t> devices;  ///< of each snapshot: how many of its devices others have too
  std::vector<Pair> pairs;           ///< each once, in the order of the snapshots
};

/// Looks at the healthy devices of all resources; null snapshots have none. Linear in the number of
/// their nodes. Pure.
SharedNodes FindSharedNodes(std::span<const std::shared_ptr<const Snapshot>> snapshots);

}  // namespace patchbay
