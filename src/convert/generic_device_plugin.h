#pragma once

#include <optional>

#include "config/toml_writer.h"
#include "convert/convert.h"
#include "convert/diagnostics.h"
#include "convert/manifest.h"

namespace patchbay {

/// Returns whether a value is the plugin's file, or a part of another file with the same `devices`.
bool IsGenericConfiguration(const YamlValue& value, bool is_root);

/// Returns a misspelled `devices` or `groups`, because of which a map is not a configuration of the
/// plugin.
std::optional<Misspelled> FindMisspelledGeneric(const YamlValue& value);

/// Converts all devices in a manifest. Returns nothing if it has no configuration of the plugin.
std::optional<NewFile> ConvertGenericDevicePlugin(const Manifest& manifest,
                                                  const ConvertHints& hints, Findings& findings);

}  // namespace patchbay
