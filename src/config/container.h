#pragma once

#include "config/draft.h"
#include "config/reporter.h"
#include "config/variable_scope.h"
#include "model/spec.h"

namespace patchbay {

/// Fills in what containers get of a resource: device nodes, mounts, env, annotations, CDI devices.
/// The matches of `spec` must be there already. Reports malformed templates, names and paths, and
/// warns of host paths that can end on one container path.
void CompileContainer(const ResourceDraft& draft, const Scope& scope, Reporter& reporter,
                      ResourceSpec& spec);

}  // namespace patchbay
