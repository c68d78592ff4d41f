#pragma once

#include <string>
#include <vector>

#include "inventory/allocation.h"

namespace patchbay {

/// What a container gets, for people: a line for each device node, mount, variable, annotation and
/// CDI name, indented by two.
std::string RenderResponse(const ContainerResponse& response);

}  // namespace patchbay
