#pragma once

#include "config/section.h"
#include "config/variable_scope.h"
#include "model/spec.h"

namespace patchbay {

/// Compiles the tables of [daemon], `dra` and `kubernetes`, into `spec`.
void CompileDraDaemon(const Section& daemon, Reporter& reporter, DaemonSpec& spec);

/// Compiles the keys of a [[resource]] for Dynamic Resource Allocation into `spec`, whose other
/// keys are compiled; `devices` is the scope of its attributes.
void CompileDraKeys(const Section& resource, const DaemonSpec& daemon, const Scope& devices,
                    Reporter& reporter, ResourceSpec& spec);

/// Warns of keys that have no effect with the API of the resource.
void WarnOfKeysOfTheOtherApi(const Section& resource, const ResourceSpec& spec, Reporter& reporter);

}  // namespace patchbay
