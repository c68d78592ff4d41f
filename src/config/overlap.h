#pragma once

#include "config/draft.h"
#include "config/reporter.h"
#include "model/spec.h"

namespace patchbay {

/// Warns if two resources can claim the same path, at most once for each pair of resources, with
/// such a path as an example. Detects overlapping globs (model/glob_overlap.h), a path generated
/// from a glob that matches a regex, equal regexes, and matches that can find the same USB device
/// or PCI function (config/hardware_overlap.h). Does not warn if both resources have `on_nodes`,
/// because they can apply to different Kubernetes nodes, if exactly one of them is exclusive, or if
/// the matches are for different file types.
///
/// A false warning is worse than none, because discovery detects paths that are actually claimed
/// twice. Therefore an excluded path is never an example, only about ten example paths are tried
/// for two patterns, different regexes are not compared with each other, and the work for the whole
/// input is bounded. Once that bound is reached, patterns count as not overlapping.
///
/// `model` must have been compiled from `document` without errors, so that their parts correspond.
void WarnOfSharedNodes(const DocumentDraft& document, const Model& model, Reporter& reporter);

}  // namespace patchbay
