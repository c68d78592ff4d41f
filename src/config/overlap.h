#pragma once

#include "config/section.h"
#include "model/spec.h"

namespace patchbay {

/// Warns if two resources certainly claim the same path or device, at most once for each pair of
/// resources: two patterns with the same text, a path without wildcards that a pattern of the other
/// resource matches, or two matches with the same `usb` or `pci`. Does not warn if both resources
/// have `on_nodes`, because they can apply to different Kubernetes nodes, if exactly one of them is
/// exclusive, if the matches are for different file types, or if both have conditions that differ.
///
/// It depends on the devices of the host if two patterns with wildcards overlap: the daemon and
/// `explain` report the nodes that really are shared (inventory/shared_nodes.h). The work is
/// bounded; once that bound is reached, patterns count as not overlapping.
///
/// `model` must have been compiled from `document` without errors, so that their parts correspond.
void WarnOfSharedNodes(const Section& document, const Model& model, Reporter& reporter);

}  // namespace patchbay
