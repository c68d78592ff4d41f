#pragma once

#include <optional>

#include "config/toml_writer.h"
#include "convert/convert.h"
#include "convert/diagnostics.h"
#include "convert/manifest.h"

namespace patchbay {

/// Returns whether a value is a list of `devicematch` entries.
bool IsSmarterConfiguration(const YamlValue& value, bool is_root);

/// Returns a misspelled key of an entry, because of which a list is not a configuration of the
/// plugin.
std::optional<Misspelled> FindMisspelledSmarter(const YamlValue& value);

/// Converts the configurations in a manifest. Returns nothing if it has none.
/// In smarter-device-manager, each name in /dev that an entry matches is a resource; in Patchbay,
/// the configuration contains the names of the resources. The names come from `hints.dev`. If that
/// is absent, they are derived from the expression as far as possible.
std::optional<NewFile> ConvertSmarterDeviceManager(const Manifest& manifest,
                                                   const ConvertHints& hints, Findings& findings);

}  // namespace patchbay
