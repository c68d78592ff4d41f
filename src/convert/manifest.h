#pragma once

#include <optional>
#include <string>
#include <vector>

#include "convert/yaml.h"

namespace patchbay {

/// What a file is made of: the documents of a ConfigMap count as well as the file's own.
struct Manifest {
  /// The arguments of one container, and its image.
  struct Container {
    std::vector<YamlValue> arguments;
    std::string image;
    Place place;
  };
  std::vector<YamlValue> documents;   ///< of the file and of ConfigMaps
  std::vector<Container> containers;  ///< all that have a list of arguments, however deep
  std::string text;                   ///< of the file
};

/// Reads a file of any number of documents. Texts of ConfigMaps that are no YAML are passed over.
Manifest ReadManifest(const std::string& file, const std::string& text, Findings& findings);

/// The values of a flag, "--device X" or "--device=X" with one dash or two, in order.
std::vector<YamlValue> FlagValues(const Manifest::Container& container, std::string_view flag);

}  // namespace patchbay
