#pragma once

#include <string>

#include "convert/convert.h"
#include "convert/diagnostics.h"
#include "convert/manifest.h"
#include "convert/toml_writer.h"

namespace patchbay {

/// Every list of `devicematch` that is in a file. There each name in /dev that an entry matches is
/// a resource; here the names of resources are in the file. So they are taken from `hints.dev`,
/// and written out as far as an expression tells them where that is absent.
NewFile ConvertSmarterDeviceManager(const Manifest& manifest, const std::string& file,
                                    const ConvertHints& hints, Findings& findings);

}  // namespace patchbay
