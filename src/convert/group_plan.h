#pragma once

#include <optional>
#include <vector>

#include "config/toml_writer.h"
#include "convert/diagnostics.h"
#include "convert/generic_group.h"

namespace patchbay {

/// A converted group: the matches of the resource, and the nodes and mounts that a container gets.
struct GroupPlan {
  std::vector<NewMatch> matches;
  std::vector<NewNode> nodes;
  std::vector<NewMount> mounts;
};

/// Converts one group, independently of the other groups of the device. If Patchbay has no
/// equivalent, adds a finding and returns nothing.
std::optional<GroupPlan> PlanOfGroup(const GenericGroup& group, Findings& findings);

}  // namespace patchbay
