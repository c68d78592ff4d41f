#pragma once

#include <vector>

#include "discovery/scan_context.h"

namespace patchbay {

/// The candidates of a scan as devices: where a match has `group_by`, those with the same value of
/// that variable become one, whose default identity is the value and whose nodes are in the order
/// of their paths. A candidate without a value is rejected, and so is a device that lacks a node
/// its match requires; the others are not touched by that.
///
/// Takes the candidates out of `scan`, and leaves the rejections there.
std::vector<Candidate> Group(const ResourceSpec& spec, ScanContext& scan);

}  // namespace patchbay
