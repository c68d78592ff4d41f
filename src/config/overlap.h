#pragma once

#include "config/document.h"
#include "config/reporter.h"
#include "model/spec.h"

namespace patchbay {

/// Warns of resources that claim the same path: patterns of equal text, and a plain path that a
/// pattern of another resource matches. Patterns that merely may overlap are not reported, nor
/// resources that are both bound to Kubernetes nodes, which can be different ones.
///
/// `model` is what `document` became without any error, so that their parts correspond.
void WarnOfSharedNodes(const DocumentDraft& document, const Model& model, Reporter& reporter);

}  // namespace patchbay
