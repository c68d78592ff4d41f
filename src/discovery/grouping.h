#pragma once

#include <vector>

#include "discovery/scan_context.h"

namespace patchbay {

/// Removes the candidates of `scan` that belong to the same device as a part that is excluded, see
/// ScanContext::AddExcluded, and reports them. Call it when all sources have run.
void RemoveExcludedGroups(const ResourceSpec& spec, ScanContext& scan);

/// Moves the candidates out of `scan` and returns the devices. If a match has `group_by`,
/// candidates with the same value of that variable become one device: its default ID is the value,
/// and its nodes are ordered by path. Rejects candidates without a value, and devices without a
/// node that the match requires.
std::vector<Candidate> Group(const ResourceSpec& spec, ScanContext& scan);

}  // namespace patchbay
