#pragma once

#include <string>

#include "hooks/hook.h"
#include "inventory/container_response.h"

namespace patchbay {

/// Formats the response for a container as text: one line for each device node, mount, environment
/// variable, annotation and CDI device name, indented by two spaces.
std::string RenderResponse(const ContainerResponse& response);

/// Formats the commands of a hook as text: one line each, quoted for a shell.
std::string RenderHook(const HookCall& call);

}  // namespace patchbay
