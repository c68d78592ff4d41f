#pragma once

#include "model/spec.h"
#include "status/node_status.h"

namespace patchbay {

/// Returns the resources of the model whose names are not in `here`, those of this node, in the
/// order of the configuration. Entries with the same name are one resource. Pure.
HiddenResources HiddenFrom(const Model& model, const ResourceSpecs& here);

}  // namespace patchbay
