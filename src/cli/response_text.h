#pragma once

#include <string>
#include <vector>

#include "hooks/hook.h"
#include "inventory/allocation.h"

namespace patchbay {

/// What a container gets, for people: a line for each device node, mount, variable, annotation and
/// CDI name, indented by two.
std::string RenderResponse(const ContainerResponse& response);

/// What hooks would run, for people: a line for each command, as one would write it for a shell.
std::string RenderHook(const HookCall& call);

}  // namespace patchbay
