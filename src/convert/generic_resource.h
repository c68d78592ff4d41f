#pragma once

#include <optional>

#include "config/toml_writer.h"
#include "convert/diagnostics.h"
#include "convert/generic_group.h"

namespace patchbay {

/// Converts one group, independently of the other groups of the device, to a resource without a
/// name. Its matches have their nodes. If Patchbay has no equivalent, adds a finding and returns
/// nothing.
std::optional<NewResource> ResourceOfGroup(const GenericGroup& group, Findings& findings);

/// Adds the resource of a group to that of its device, which has no matches before the first group.
/// Returns false, with a finding, if the groups do not fit.
bool AddGroup(NewResource group, NewResource& resource, Findings& findings);

/// Completes the resource of a device, which has a match: moves the nodes that all matches have to
/// the resource, and makes the IDs of its devices unique.
void CompleteResource(NewResource& resource, Findings& findings);

}  // namespace patchbay
