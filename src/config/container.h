#pragma once

#include <span>

#include "config/section.h"
#include "config/variable_scope.h"
#include "model/spec.h"

namespace patchbay {

/// Compiles the parts of a [[resource]] that containers get into `spec`: device nodes, mounts, env,
/// annotations and CDI devices. Requires that the matches of `spec` are compiled; `matches` are
/// their sections. Reports malformed templates, names and paths, and warns if two host paths can
/// map to the same container path.
void CompileContainer(const Section& resource, std::span<const Section* const> matches,
                      const Scope& scope, Reporter& reporter, ResourceSpec& spec);

}  // namespace patchbay
