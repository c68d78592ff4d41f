#pragma once

#include <string>

#include "discovery/scan_context.h"

namespace patchbay {

/// Returns the conditions of a udev rule for a node that the match selects by `path`, or that
/// replaces such a node: the kind of node, and what the match names, as far as a udev rule can have
/// it. Empty if no rule can name the node. Text of the device is never a pattern. Blocks.
std::string UdevConditionsFor(const std::string& path, const HostNode& node, const MatchSpec& match,
                              ScanContext& scan);

}  // namespace patchbay
