#pragma once

#include <string>
#include <vector>

#include "discovery/discover.h"

namespace patchbay {

/// The maximum number of notes of a resource.
inline constexpr std::size_t kMaxDeviceNotes = 100;

/// Returns the devices that request a link below /dev from udev, as its database names them,
/// sorted. Blocks.
std::vector<std::string> RequestsOfLink(const std::string& link, const HostRoot& host);

/// Sets `notes`: facts about devices that can be allocated, but that containers or administrators
/// will not like. With grant_group, a node whose group gives no access; a node of /dev/dri that has
/// another name in the container than in the kernel; a link in a directory by-id that several
/// devices request; a group, or a path of `together`, with nodes of several cards or disks. Blocks.
void FindNotes(const ResourceSpec& spec, const std::string& node_name, ScanContext& scan,
               Discovery& discovery);

}  // namespace patchbay
