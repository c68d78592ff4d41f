#pragma once

#include "config/draft.h"
#include "config/reporter.h"
#include "model/spec.h"

namespace patchbay {

/// Compiles the drafts into the model and reports all their errors and warnings. The model is valid
/// only if no error has been reported, here or before. See LoadPaths for `node`.
Model Validate(const DocumentDraft& document, const std::string& node, Reporter& reporter);

}  // namespace patchbay
