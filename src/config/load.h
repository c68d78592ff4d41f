#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "config/source_file.h"
#include "model/spec.h"

namespace patchbay {

/// The result of loading a configuration. The model is present if and only if there are no errors;
/// warnings do not matter. The diagnostics contain the source texts that they refer to.
struct Loaded {
  std::optional<Model> model;
  Diagnostics diagnostics;
  bool is_being_written = false;  ///< a file may be incomplete, see os/read_file.h
};

/// Loads files and directories as one document. From a directory, loads all `*.toml` files in the
/// order of their names: regular files and links to regular files, except names that begin with a
/// dot. Does not throw; a file that cannot be read causes a diagnostic. Can block, so do not call
/// it on the loop. Two entries with one name that both match `node`, the name of the Kubernetes
/// node that is served, and more than 128 entries for it, are errors; "" if no node is known.
Loaded LoadPaths(const std::vector<std::string>& paths, const std::string& node = "");

/// Loads texts that are already in memory as one document. They can contain any bytes.
Loaded LoadTexts(std::vector<SourceFile> sources, const std::string& node = "");

}  // namespace patchbay
