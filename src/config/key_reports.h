#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "config/keys.h"

namespace patchbay {

/// What is said of a key or its value that does not fit the document. The hint has what the
/// administrator would write instead, with their own value in it where that shows what was meant.

/// Reports that `value` is not what `key` takes.
void ReportWrongType(const KeyInfo& key, const TomlValue& value, Reporter& reporter);
/// The same of a value in `table`, whose keys are the administrator's own.
void ReportWrongPair(const KeyInfo& table, const TomlEntry& entry, Reporter& reporter);
/// Reports a key that is not among `known`, the keys of `section`. Returns the one of them that the
/// hint says was meant, or "".
std::string_view ReportUnknownKey(const TomlEntry& entry, std::string_view section,
                                  std::span<const std::string_view> known, Reporter& reporter);
/// Reports that the section at `place` lacks `key`.
void ReportMissingKey(const KeyInfo& key, const Place& place, Reporter& reporter);
/// Reports that the one section `key` appears again.
void ReportDuplicateSection(const KeyInfo& key, const Place& place, const Place& first,
                            Reporter& reporter);
/// Reports a number, or a duration in milliseconds, outside the bounds of `key`.
void ReportOutOfRange(const KeyInfo& key, std::int64_t value, const Place& place,
                      Reporter& reporter);

}  // namespace patchbay
