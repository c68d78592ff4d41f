#pragma once

#include <functional>
#include <string>

#include "discovery/scan_context.h"
#include "model/glob.h"

namespace patchbay {

/// Evaluates one alternative of a glob on the host, and calls `on_path` with each path that
/// matches and its directory entry. If the last component is literal, the entry is null, and the
/// path need not exist. Follows links to directories, except for "**". Watches everything that can
/// change which paths match.
void WalkGlob(const Glob::Components& pattern, ScanContext& scan,
              const std::function<void(const std::string& path, const HostEntry* entry)>& on_path);

}  // namespace patchbay
