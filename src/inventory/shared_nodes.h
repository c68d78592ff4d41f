#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/snapshot.h"

namespace patchbay {

/// Device nodes that several resources list. Kubernetes treats them as separate devices, so a node
/// may be allocated twice.
struct SharedNodes {
  struct Pair {
    std::size_t first = 0;  ///< indexes of the snapshots
    std::size_t second = 0;
    std::string path;  ///< one such node
  };
  std::vector<std::size_t>
      devices;              ///< per snapshot: the number of its devices that others list too
  std::vector<Pair> pairs;  ///< each once, ordered by the snapshots
};

/// Compares the healthy devices of all resources; null snapshots have none. Linear in the number of
/// nodes. Pure.
SharedNodes FindSharedNodes(std::span<const std::shared_ptr<const Snapshot>> snapshots);

}  // namespace patchbay
