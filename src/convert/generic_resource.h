#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/toml_writer.h"
#include "convert/generic_group.h"
#include "convert/group_plan.h"

namespace patchbay {

/// The converted groups of a device, which become one resource.
using PlannedGroups = std::vector<std::pair<GenericGroup, GroupPlan>>;

/// Adds a group to those of a resource. Returns false, with a finding, if it does not fit with the
/// first one.
bool AddGroup(GenericGroup group, GroupPlan plan, PlannedGroups& groups, Findings& findings);

/// Returns the resource of at least one group.
NewResource ResourceOf(std::string name, Notes notes, PlannedGroups groups, Findings& findings);

}  // namespace patchbay
