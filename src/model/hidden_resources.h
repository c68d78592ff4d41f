#pragma once

#include <string>
#include <vector>

#include "model/spec.h"

namespace patchbay {

/// A resource of the configuration that `on_nodes` excludes from this node.
struct HiddenResource {
  std::string name;
  std::string description;
  std::vector<std::string> on_nodes;  ///< as in the file; they do not serve this node
  bool operator==(const HiddenResource&) const = default;
};
using HiddenResources = std::vector<HiddenResource>;

/// Returns the resources of the model whose names are not in `here`, those of this node, in the
/// order of the configuration. Entries with the same name are one resource. Pure.
HiddenResources HiddenFrom(const Model& model, const ResourceSpecs& here);

}  // namespace patchbay
