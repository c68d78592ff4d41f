#pragma once

#include <string>

#include "model/spec.h"

namespace patchbay {

/// A match as the file has it, source and conditions in one line: `path = "/dev/ttyUSB*"`,
/// `regex = "/dev/card(?P<n>\d)", usb = "0403:*", udev = {…}`. For people; not TOML that can be
/// read again.
std::string MatchText(const MatchSpec& match);

/// Whether a path or regex could match `path`; nothing where the source has no pattern for paths.
std::optional<bool> PatternMatches(const MatchSpec& match, const std::string& path);

}  // namespace patchbay
