#pragma once

#include <functional>
#include <string>

#include "discovery/scan_context.h"
#include "model/glob.h"

namespace patchbay {

/// Evaluates one alternative of a glob on the host. Follows links to directories, except for "**".
/// Calls `found` with each path that can match and its directory entry; the entry is null if the
/// path is literal, and may then not exist. Watches everything that can change the result.
void WalkGlob(const Glob::Components& pattern, ScanContext& scan,
              const std::function<void(const std::string& path, const HostEntry* entry)>& found);

}  // namespace patchbay
