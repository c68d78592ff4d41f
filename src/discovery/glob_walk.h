#pragma once

#include <functional>
#include <string>

#include "discovery/scan_context.h"
#include "model/glob.h"

namespace patchbay {

/// Walks the host along one alternative of a glob, following links to directories but for "**",
/// and calls `found` with each path that may be there: with its entry where a directory was listed,
/// with null where the path is named in full and nobody has looked yet. All that can change the
/// outcome is watched.
void WalkGlob(const Glob::Components& pattern, ScanContext& scan,
              const std::function<void(const std::string& path, const HostEntry* entry)>& found);

}  // namespace patchbay
