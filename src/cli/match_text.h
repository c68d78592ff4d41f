#pragma once

#include <string>

#include "model/spec.h"

namespace patchbay {

/// A match as the file has it, all that is set in one line: `path = "/dev/ttyUSB*", usb = "0403:*",
/// id = "{usb_port}"`. In a file each key has a line of its own.
std::string MatchText(const MatchSpec& match);

/// Whether a path or regex could match `path`; nothing where the source has no pattern for paths.
std::optional<bool> PatternMatches(const MatchSpec& match, const std::string& path);

}  // namespace patchbay
