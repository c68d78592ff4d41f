#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "config/source_file.h"
#include "model/spec.h"

namespace patchbay {

/// What a configuration came to. The model is present if and only if there are no errors; warnings
/// do not take it away. The diagnostics hold the texts they speak of.
struct Loaded {
  std::optional<Model> model;
  Diagnostics diagnostics;
  bool is_being_written = false;  ///< a file may be half of what it will be, see os/read_file.h
};

/// Loads files and directories as one document. Of a directory all `*.toml` are taken in the order
/// of their names: regular files and links to such, no names that begin with a dot. Nothing throws;
/// what cannot be read is a diagnostic. Reads files, so it does not belong on the loop.
Loaded LoadPaths(const std::vector<std::string>& paths);

/// The same of texts already in memory. Any bytes may come in.
Loaded LoadTexts(std::vector<SourceFile> sources);

}  // namespace patchbay
