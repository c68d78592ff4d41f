#pragma once

#include <functional>
#include <string>

#include "discovery/scan_context.h"
#include "model/glob.h"

namespace patchbay {

/// The functions that a walk calls for the last component of a pattern.
struct GlobVisitor {
  /// The path may match. It is literal and need not exist.
  std::function<void(const std::string& path)> on_path;
  /// Entries of the directory, which ends with a slash, match if their name is like `name`.
  std::function<void(const std::string& directory, const NamePattern& name)> on_directory;
};

/// Evaluates one alternative of a glob on the host. Follows links to directories, except for "**".
/// Watches everything that can change which paths the visitor gets.
void WalkGlob(const Glob::Components& pattern, ScanContext& scan, const GlobVisitor& visitor);

}  // namespace patchbay
