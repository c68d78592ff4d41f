#pragma once

#include <string>
#include <string_view>

#include "convert/manifest.h"

namespace patchbay {

/// Returns values for the chart of Patchbay as YAML: the configuration, and what the pod of the
/// plugin `program` sets that also applies to Patchbay. If the pod is that of a HelmRelease,
/// returns a HelmRelease of Patchbay with these values, and its source. Reports what is not carried
/// over; for a HelmRelease, also the other objects of the input.
std::string WriteHelm(const Manifest& manifest, std::string_view program, const std::string& toml,
                      Findings& findings);

}  // namespace patchbay
