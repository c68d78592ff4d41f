#pragma once

#include <optional>

#include "config/patterns.h"
#include "config/section.h"
#include "config/variable_scope.h"
#include "model/spec.h"

namespace patchbay {

/// Compiles [resource.health]. `devices_have_nodes` is false if no device of the resource can have
/// a device node. Returns none if there is no usable probe.
std::optional<ProbeSpec> CompileHealth(const Section& section, const Scope& devices,
                                       bool devices_have_nodes, PatternCompiler& patterns);

/// Compiles [resource.hooks] into `spec`. `devices` contains the variables of a device,
/// `containers` those of a device in a container.
void CompileHooks(const Section& section, const Scope& devices, const Scope& containers,
                  Reporter& reporter, ResourceSpec& spec);

}  // namespace patchbay
