#pragma once

#include "config/section.h"
#include "model/spec.h"

namespace patchbay {

/// Compiles the top level into the model and reports all errors and warnings. The model is valid
/// only if no error has been reported, here or before. See LoadPaths for `node`.
Model Validate(const Section& document, const std::string& node, Reporter& reporter);

}  // namespace patchbay
