#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "convert/manifest.h"

namespace patchbay {

/// A variable of a container.
struct EnvVariable {
  YamlValue source;                  ///< its entry in `env` or `envFrom`, or the `valueFrom` in it
  std::optional<std::string> value;  ///< nothing if the input does not contain it
  std::string missing_config_map;    ///< contains the value, but is not in the input
};

/// Finds variables of containers that Kubernetes sets, also from the ConfigMaps of the input.
class Environments {
 public:
  /// `manifest` must outlive the object.
  explicit Environments(const Manifest& manifest) : manifest_(manifest) {}

  /// Returns a variable: the last one in `env`, or otherwise in `envFrom`. Nothing if neither sets
  /// it. A source outside the input sets every variable that it may contain.
  std::optional<EnvVariable> Find(const Manifest::Container& container, const std::string& name);

 private:
  using Texts = std::map<std::string, std::string>;

  const Texts* DataOf(const std::string& config_map, const YamlValue& object);
  std::optional<EnvVariable> FromConfigMap(const YamlValue& source, const YamlValue& reference,
                                           const std::string& key, const YamlValue& object);
  std::optional<EnvVariable> FromEnv(const YamlValue& entry, const YamlValue& object);

  const Manifest& manifest_;
  /// The data of ConfigMaps that were searched for, by namespace and name.
  std::map<std::pair<std::string, std::string>, std::optional<Texts>> config_maps_;
};

}  // namespace patchbay
