#pragma once

#include <string>

#include "convert/convert.h"
#include "convert/diagnostics.h"
#include "convert/manifest.h"
#include "convert/toml_writer.h"

namespace patchbay {

/// Returns whether a value is a list of `devicematch` entries.
bool IsSmarterConfiguration(const YamlValue& value, bool is_root);

/// Converts the configurations in a manifest. `file` is its name, for diagnostics.
/// In smarter-device-manager, each name in /dev that an entry matches is a resource; in Patchbay,
/// the configuration contains the names of the resources. The names come from `hints.dev`. If that
/// is absent, they are derived from the expression as far as possible.
NewFile ConvertSmarterDeviceManager(const Manifest& manifest, const std::string& file,
                                    const ConvertHints& hints, Findings& findings);

}  // namespace patchbay
