#pragma once

#include <cstddef>
#include <string>

#include "convert/yaml.h"

namespace patchbay {

/// Returns a value as JSON on one line, which is valid YAML too. Stops after about `max_bytes`
/// bytes with "…", which is not.
std::string ToJson(const YamlValue& value, std::size_t max_bytes = 1U << 20);

}  // namespace patchbay
