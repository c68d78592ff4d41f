#pragma once

#include "config/draft.h"
#include "config/reporter.h"
#include "model/spec.h"

namespace patchbay {

/// Compiles the drafts into the model and reports everything that is wrong with them. The model is
/// of use only when nothing has been reported as an error, here or before.
Model Validate(const DocumentDraft& document, Reporter& reporter);

}  // namespace patchbay
