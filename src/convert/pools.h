#pragma once

#include <set>
#include <string>
#include <vector>

#include "convert/manifest.h"

namespace patchbay {

/// The containers of the plugin for one choice of nodes, and the configurations that they read.
struct Pool {
  std::string name;  ///< 1 to 12 letters of a DNS label, unique; from the choice of nodes
  /// Refers to the values of the manifest that it is a part of. Has at least one container.
  Manifest part;
};
inline constexpr std::size_t kMaxPools = 50;

/// Splits a manifest by the nodeSelector and affinity of the containers of the plugin. A
/// configuration that no container is known to read is in every pool. Returns nothing if all
/// containers have the same. More than kMaxPools pools, and nodes that a template chooses, are
/// findings.
std::vector<Pool> PoolsOf(const Manifest& manifest, Findings& findings);

/// Returns the names of all nodes that the pod of a container can run on, if its nodeSelector or
/// affinity has them: kubernetes.io/hostname or metadata.name. Returns nothing if they are not
/// known.
std::set<std::string> NodeNamesOf(const Manifest::Container& container);

/// Returns the nodeSelector and the affinity of a container as JSON, shortened, for messages; "" if
/// it has neither.
std::string NodesOf(const Manifest::Container& container);

}  // namespace patchbay
