#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "cdi/cdi_directory.h"

namespace patchbay {

/// The CDI device that adds a group to the supplementary groups of a container, for `grant_group`.
/// There is a file for each group, with the same content in every process: two daemons at the same
/// time cannot lose a group of each other, and nothing about allocations is stored. Files stay
/// until the node restarts, because a container that restarts is looked up again.

inline constexpr std::string_view kGroupKind = "patchbay.dev/group";

/// Returns "patchbay.dev/group=gid-20".
std::string GroupDeviceName(std::uint32_t gid);

/// Writes the file of a group, see CdiDirectory::Write. The group is not 0.
Status WriteGroupDevice(const CdiDirectory& directory, std::uint32_t gid);

}  // namespace patchbay
