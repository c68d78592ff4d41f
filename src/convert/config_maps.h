#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "convert/manifest.h"

namespace patchbay {

/// A variable of a container.
struct EnvVariable {
  YamlValue source;                  ///< its entry in `env` or `envFrom`, or the `valueFrom` in it
  std::optional<std::string> value;  ///< nothing if the input does not contain it
  std::string hint;                  ///< how to add the value to the input, if that is known
};

/// Finds what Kubernetes takes from the ConfigMaps of the input: variables and files of containers.
class ConfigMaps {
 public:
  using Texts = std::map<std::string, std::string>;

  /// Both must outlive the object. Variables beyond a limit count as not in the input.
  ConfigMaps(const Manifest& manifest, YamlBudget& budget) : manifest_(manifest), budget_(budget) {}

  /// Returns the data of a ConfigMap in the namespace of an object; null if the input has none.
  const Texts* Find(const std::string& config_map, const YamlValue& object);

  /// Returns a variable: the last one in `env`, or otherwise in `envFrom`. Nothing if neither sets
  /// it. A source outside the input sets every variable that it may contain.
  std::optional<EnvVariable> Variable(const Manifest::Container& container,
                                      const std::string& name) {
    return Variable(container, name, 0);
  }

  /// Returns an argument with its references to variables replaced as Kubernetes does it, where $$
  /// is a dollar sign.
  Manifest::Argument Expand(const Manifest::Container& container, const YamlValue& argument) {
    return Expand(container, argument, 0);
  }

  /// Returns the file at an absolute path in a container.
  Manifest::File FileAt(const Manifest::Container& container, const std::string& path);

 private:
  std::optional<EnvVariable> Variable(const Manifest::Container& container, const std::string& name,
                                      int depth);
  std::optional<EnvVariable> FromConfigMap(const YamlValue& source, const YamlValue& reference,
                                           const std::string& key, const YamlValue& object);
  std::optional<EnvVariable> FromEnv(const Manifest::Container& container, const YamlValue& entry,
                                     int depth);
  Manifest::Argument Expand(const Manifest::Container& container, const YamlValue& argument,
                            int depth);

  const Manifest& manifest_;
  YamlBudget& budget_;
  std::size_t entries_ = 100'000;  ///< of environments, that may still be searched
  /// The data of ConfigMaps that were searched for, by namespace and name.
  std::map<std::pair<std::string, std::string>, std::optional<Texts>> config_maps_;
};

/// Returns the name of a file for messages.
std::string NameOf(const Manifest::File& file);

/// Returns what to do if the input does not contain a ConfigMap in the namespace of an object.
std::string HintOnMissing(const std::string& config_map, const YamlValue& object);

}  // namespace patchbay
