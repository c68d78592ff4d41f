#pragma once

#include <string>
#include <string_view>

#include "convert/manifest.h"

namespace patchbay {

/// Returns values for the chart of Patchbay as YAML: the configuration, and what the pod of the
/// plugin `program` sets that also applies to Patchbay. If the pod is that of a HelmRelease,
/// returns a HelmRelease of Patchbay with these values, and its source.
std::string WriteHelm(const Manifest& manifest, std::string_view program, const std::string& toml);

}  // namespace patchbay
