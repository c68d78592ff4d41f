#pragma once

#include <vector>

#include "discovery/scan_context.h"

namespace patchbay {

/// Removes the candidates of the current match that belong to an excluded device, and reports them.
/// They are in the group of an excluded part, see ScanContext::AddExcluded, in that of a node that
/// `exclude` names although the match does not find it, or below such a node in sysfs, as the
/// partitions of a disk and the devices of a hub are. Call it when the source has run.
void RemoveExcluded(const MatchSpec& match, ScanContext& scan);

/// Moves the candidates out of `scan` and returns the devices. If a match has `group_by`,
/// candidates with the same value of that variable become one device: its default ID is the value,
/// and its nodes are ordered by path. Rejects candidates without a value, and devices without a
/// node that the match requires.
std::vector<Candidate> Group(const ResourceSpec& spec, ScanContext& scan);

}  // namespace patchbay
