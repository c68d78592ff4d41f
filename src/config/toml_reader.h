#pragma once

#include <optional>

#include "config/reporter.h"
#include "config/source_file.h"
#include "config/toml_value.h"

namespace patchbay {

/// Parses a TOML 1.0 document. If the text is invalid, reports the first error (kNotUtf8 or
/// kSyntax) and returns none. The text can contain any bytes. Omits values that are nested deeper
/// than any key of the configuration.
std::optional<TomlTable> ReadToml(const SourceFile& source, Reporter& reporter);

}  // namespace patchbay
