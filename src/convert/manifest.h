#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "convert/yaml.h"

namespace patchbay {

/// The content of an input file. Its documents include those in the data of its ConfigMaps.
struct Manifest {
  /// A container and its arguments: those of `command`, then those of `args`.
  struct Container {
    std::vector<YamlValue> arguments;
    std::string name;
    std::string image;
    std::set<std::string> config_maps;  ///< the names of the ConfigMaps that it mounts
    std::size_t command_size = 0;       ///< number of arguments from `command`
  };
  struct Document {
    YamlValue value;
    std::string config_map;  ///< the name of its ConfigMap; empty for a document of the file
  };
  std::vector<Document> documents;
  std::vector<Container> containers;   ///< all with an image or arguments, at any depth
  std::vector<Diagnostic> unreadable;  ///< errors in ConfigMaps that may be the plugin's
  TextLines lines;                     ///< of the file; refer to its text
};

/// Reads a file with any number of YAML documents. `file` is its name, for diagnostics; `text` must
/// outlive the result. The data of a ConfigMap need not be YAML.
Manifest ReadManifest(const std::string& file, const std::string& text, Findings& findings);

}  // namespace patchbay
