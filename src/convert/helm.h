#pragma once

#include <string>
#include <vector>

#include "convert/manifest.h"

namespace patchbay {

/// A converted configuration.
struct HelmConfig {
  std::string pool;               ///< the name of its pool; "" if there are no pools
  Manifest::Container container;  ///< of the plugin, from which settings carry over
  std::string toml;
};

/// Returns the container of the plugin. If the input has none, returns the values of a chart, or
/// the object, with the configuration, which can also have settings.
Manifest::Container ContainerOf(const Manifest& manifest);

/// Returns values for the chart of Patchbay as YAML: the configurations, at least one, and what
/// their containers and pods set that also applies to Patchbay. If the first container is in a
/// HelmRelease, returns one HelmRelease of Patchbay with these values, and its source. Reports what
/// is not carried over; for a HelmRelease, also the other objects of the input.
std::string WriteHelm(const Manifest& manifest, const std::vector<HelmConfig>& configs,
                      Findings& findings);

}  // namespace patchbay
