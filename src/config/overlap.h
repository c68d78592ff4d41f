#pragma once

#include "config/draft.h"
#include "config/reporter.h"
#include "model/spec.h"

namespace patchbay {

/// Warns of resources that can claim the same path, once for two resources, with such a path as an
/// example: where globs meet (model/glob_overlap.h), where a path made of a glob matches a regex,
/// and of equal regexes; and of those that can find the same USB device or PCI function
/// (config/hardware_overlap.h). Not of resources that are both bound to Kubernetes nodes, which can
/// be different ones, nor of matches for different types of file.
///
/// A wrong warning is worse than none, since discovery sees what is really claimed twice. So a path
/// that an `exclude` takes away is no example, and only about ten are tried for two patterns;
/// regexes are not compared with each other; and the work for a whole input is bounded, beyond
/// which patterns count as having nothing in common.
///
/// `model` is what `document` became without any error, so that their parts correspond.
void WarnOfSharedNodes(const DocumentDraft& document, const Model& model, Reporter& reporter);

}  // namespace patchbay
