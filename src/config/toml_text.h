#pragma once

#include <string>
#include <vector>

#include "config/toml_value.h"

namespace patchbay {

/// Returns `text` as a TOML string on one line. A text with backslashes becomes a literal string if
/// that is possible, so that regular expressions remain readable.
std::string QuoteToml(const std::string& text);

/// Returns texts as a TOML list on one line.
std::string TomlList(const std::vector<std::string>& texts);

/// Returns a key as TOML: without quotes if possible.
std::string TomlKey(const std::string& key);

/// Returns the entries of a table on one line, in the order of the file:
/// `path = "/dev/ttyUSB*", udev = { subsystem = "tty" }`.
std::string TomlText(const TomlTable& table);

}  // namespace patchbay
