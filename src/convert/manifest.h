#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "convert/yaml.h"

namespace patchbay {

/// What a file is made of: the documents of a ConfigMap count as well as the file's own.
struct Manifest {
  /// The arguments of one container, its program in front if there is a `command`.
  struct Container {
    std::vector<YamlValue> arguments;
    std::string name;
    std::string image;
    std::set<std::string> config_maps;  ///< the names of those it mounts
    std::size_t command_size = 0;  ///< how many arguments, from the first, are of its `command`
  };
  struct Document {
    YamlValue value;
    std::string config_map;  ///< the name of the ConfigMap it is in; empty for one of the file
  };
  std::vector<Document> documents;
  std::vector<Container> containers;   ///< all that have an image or arguments, however deep
  std::vector<Diagnostic> unreadable;  ///< texts of ConfigMaps that may have been meant
  TextLines lines;                     ///< of the file
};

/// Reads a file of any number of documents, whose text must outlive the result. Texts of ConfigMaps
/// need not be YAML.
Manifest ReadManifest(const std::string& file, const std::string& text, Findings& findings);

}  // namespace patchbay
