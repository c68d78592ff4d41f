#pragma once

#include <string>
#include <vector>

#include "convert/manifest.h"

namespace patchbay {

/// A converted configuration.
struct HelmConfig {
  std::string pool;  ///< the name of its pool; "" if there are no pools
  /// Of the plugin. Settings carry over from the first one, and differences are findings.
  std::vector<Manifest::Container> containers;
  std::string toml;
};

/// Returns the containers of the plugin. If the input has none, returns one with the maps that
/// contain the configuration as its scope, which can also have settings.
std::vector<Manifest::Container> ContainersOf(const Manifest& manifest);

/// Returns values for the chart of Patchbay as YAML: the configurations, at least one, and what
/// their containers and pods set that also applies to Patchbay. If the first container is in a
/// HelmRelease, returns one HelmRelease of Patchbay with these values, and its source. Reports what
/// is not carried over; for a HelmRelease, also the other objects of the input.
std::string WriteHelm(const Manifest& manifest, const std::vector<HelmConfig>& configs,
                      Findings& findings);

}  // namespace patchbay
