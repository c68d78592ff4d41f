#pragma once

#include <optional>

#include "config/draft.h"
#include "config/patterns.h"
#include "config/reporter.h"
#include "config/variable_scope.h"
#include "model/spec.h"

namespace patchbay {

/// Compiles [resource.health]. Reports a section without exactly one kind of probe, keys that do
/// not apply to that kind, and malformed values. `devices_have_nodes` is false if no device of the
/// resource can have a device node. Returns none if there is no usable probe.
std::optional<ProbeSpec> CompileHealth(const HealthDraft& draft, const Scope& devices,
                                       bool devices_have_nodes, PatternBudget& budget,
                                       Reporter& reporter);

/// Compiles [resource.hooks] into `spec`. `devices` contains the variables of a device,
/// `containers` those of a device in a container.
void CompileHooks(const HooksDraft& draft, const Scope& devices, const Scope& containers,
                  Reporter& reporter, ResourceSpec& spec);

}  // namespace patchbay
