#pragma once

#include "config/reporter.h"
#include "config/source_file.h"
#include "config/toml_value.h"

namespace patchbay {

/// Parses a TOML 1.0 document. If the text is invalid, reports the first error (kSyntax) and
/// returns the keys and tables before the one that has it; then the document is cut. The text can
/// contain any bytes. Omits values that are nested deeper than any key of the configuration.
TomlTable ReadToml(const SourceFile& source, Reporter& reporter);

}  // namespace patchbay
