#pragma once

#include <vector>

#include "discovery/scan_context.h"
#include "discovery/scan_request.h"

namespace patchbay {

/// Rules between the devices of one resource. Each removes the devices from `found`, sorted by ID,
/// that it rejects, and reports them to `scan` with a reason.

/// Rejects devices with the same ID. A device that had the ID before keeps it, so that plugging in
/// another device with the same serial number does not remove it. If none had the ID, all are
/// rejected.
void RejectSharedIds(std::vector<Candidate>& found, const ScanRequest& request, ScanContext& scan);

/// Rejects devices that share a node, because a node must not be advertised under two IDs. The
/// device that had its ID before remains, otherwise the first by ID. Two links to the same node are
/// the same device; a device that shares only some of its nodes is rejected.
void RejectSharedNodes(std::vector<Candidate>& found, const ScanRequest& request,
                       ScanContext& scan);

/// Applies max_devices of each match. Devices that had their ID before have precedence, so that a
/// new device does not displace them, then the order of IDs.
void RejectBeyondLimits(const ResourceSpec& spec, std::vector<Candidate>& found,
                        const ScanRequest& request, ScanContext& scan);

}  // namespace patchbay
