#pragma once

#include <string>

#include "model/spec.h"

namespace patchbay {

/// Formats the keys of a match that are set on one line, in the syntax of the configuration file:
/// `path = "/dev/ttyUSB*", usb = "0403:*", id = "{usb_port}"`.
std::string MatchText(const MatchSpec& match);

/// Returns whether the pattern of a `path` or `regex` source matches `path`. Returns nothing for
/// other sources.
std::optional<bool> PatternMatches(const MatchSpec& match, const std::string& path);

}  // namespace patchbay
