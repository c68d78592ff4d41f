#pragma once

#include <string_view>

#include "base/log.h"
#include "cli/arguments.h"
#include "config/load.h"
#include "sim/try/private_directory.h"

namespace patchbay {

inline constexpr LogLevel kLevelOfTry = LogLevel::kWarning;

inline constexpr std::string_view kDemonstrationNote =
    "patchbay: there is no configuration; this is a demonstration of /dev/null. To try your own "
    "devices, run `patchbay try --config FILE`.\n";

/// Returns whether there is no configuration: none is given, and the default does not exist.
bool IsDemonstration(const Arguments& arguments);

/// Loads --config or, without one, the demonstration, and overrides what the built-in kubelet and
/// API server require: paths, the connection and the log level. Applied to each load, so that a
/// reload does not change them. May block.
Loaded LoadForTry(const Arguments& arguments, const KubeletPaths& paths);

}  // namespace patchbay
