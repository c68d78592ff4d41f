#pragma once

#include <optional>

#include "config/draft.h"
#include "config/reporter.h"
#include "config/variable_scope.h"
#include "model/spec.h"

namespace patchbay {

/// Compiles [resource.health]; reports a section that has not exactly one kind of probe, keys that
/// have no meaning with it, and what is malformed. `devices_have_nodes` is false where no device of
/// the resource can have one. Nothing when there is no probe to go on with.
std::optional<ProbeSpec> CompileHealth(const HealthDraft& draft, const Scope& devices,
                                       bool devices_have_nodes, Reporter& reporter);

/// Compiles [resource.hooks] into the resource. `devices` are the variables of a device, and
/// `containers` those of a device in a container.
void CompileHooks(const HooksDraft& draft, const Scope& devices, const Scope& containers,
                  Reporter& reporter, ResourceSpec& spec);

}  // namespace patchbay
