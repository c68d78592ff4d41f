#pragma once

#include <nlohmann/json.hpp>

namespace patchbay {

/// Returns the JSON Schema (2020-12) of the configuration, generated from the table of keys
/// (config/keys.h). Everything that the schema rejects is also rejected by `patchbay check`, but
/// not vice versa: the schema checks neither relations between keys of different sections nor the
/// syntax of globs and regular expressions.
///
/// taplo, the TOML language server of common editors, reads the schema as draft 7 and offers no
/// completion next to a `$ref` or an `allOf`. The schema therefore uses only what means the same in
/// draft 7, contains each section inline, and puts the rules between keys into the `then` of an
/// `if` that is always true.
nlohmann::ordered_json JsonSchema();

}  // namespace patchbay
