#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "config/keys.h"
#include "config/reporter.h"
#include "config/toml_value.h"

namespace patchbay {

// Diagnostics for keys and values that do not fit the file format. The hint shows what to write
// instead, with the user's own value if possible.

/// Reports that `value` has the wrong type for `key`.
void ReportWrongType(const KeyInfo& key, const TomlValue& value, Reporter& reporter);
/// Reports that a value in `table`, a table with arbitrary keys, has the wrong type, or in a table
/// of patterns is an empty list.
void ReportWrongItem(const KeyInfo& table, const TomlEntry& entry, Reporter& reporter);
/// Reports an entry of `table` with the name of a key of another section (IsMisplaced).
void ReportMisplaced(const KeyInfo& table, const Text& name, Reporter& reporter);
/// Reports an entry of `table` that is not among the keys of its section.
void ReportUnknownKey(const KeyInfo& table, const TomlEntry& entry, Reporter& reporter);
/// Reports that the section at `place` lacks the required `key`.
void ReportMissingKey(const KeyInfo& key, const SourceLocation& place, Reporter& reporter);
/// Reports that the string, list or table of `key` is empty.
void ReportEmpty(const KeyInfo& key, const SourceLocation& place, Reporter& reporter);
/// Reports that the section `key`, which may appear only once, appears again.
void ReportDuplicateSection(const KeyInfo& key, const SourceLocation& place,
                            const SourceLocation& first, Reporter& reporter);
/// Reports that a number, or a duration in milliseconds, is outside the bounds of `key`.
void ReportOutOfRange(const KeyInfo& key, std::int64_t value, const SourceLocation& place,
                      Reporter& reporter);

}  // namespace patchbay
