#pragma once

#include <optional>

#include "config/reporter.h"
#include "config/source_file.h"
#include "config/toml_value.h"

namespace patchbay {

/// Parses a TOML 1.0 document. Reports what is wrong with the text (kNotUtf8, kSyntax) and returns
/// nothing; the parser stops at the first mistake. Any bytes may come in. Values deeper than any
/// key of ours lies are cut off.
std::optional<TomlTable> ReadToml(const SourceFile& source, Reporter& reporter);

}  // namespace patchbay
