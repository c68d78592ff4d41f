#pragma once

#include "config/reporter.h"
#include "config/source_file.h"
#include "config/toml_value.h"

namespace patchbay {

struct TomlDocument {
  TomlTable table;
  bool is_complete = false;  ///< whether the whole text is valid
};

/// Parses a TOML 1.0 document. If the text is invalid, reports the first error (kSyntax) and
/// returns the top-level tables before the one that has it. The text can contain any bytes. Omits
/// values that are nested deeper than any key of the configuration.
TomlDocument ReadToml(const SourceFile& source, Reporter& reporter);

}  // namespace patchbay
