#pragma once

#include "config/draft.h"
#include "config/reporter.h"
#include "config/variable_scope.h"
#include "model/spec.h"

namespace patchbay {

/// Compiles [daemon.dra] and [daemon.kubernetes] into `spec`.
void CompileDraDaemon(const DaemonDraft& draft, Reporter& reporter, DaemonSpec& spec);

/// Compiles `api` and the keys of a resource for Dynamic Resource Allocation into `spec`, whose
/// other keys are compiled; `devices` is the scope of its attributes.
void CompileDraKeys(const ResourceDraft& draft, const DaemonSpec& daemon, const Scope& devices,
                    Reporter& reporter, ResourceSpec& spec);

/// Warns of keys that have no effect with the API of the resource.
void WarnOfKeysOfTheOtherApi(const ResourceDraft& draft, const ResourceSpec& spec,
                             Reporter& reporter);

}  // namespace patchbay
