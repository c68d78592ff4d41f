#pragma once

#include <nlohmann/json.hpp>

namespace patchbay {

/// The JSON Schema (2020-12) of the configuration, made of the table of keys (config/keys.h). What
/// it refuses `check` refuses too, but not the other way round: it sees neither two keys of
/// different sections together, nor the syntax of globs and regular expressions.
///
/// taplo, by which editors know TOML, takes it for draft 7 and completes nothing beside a reference
/// or an `allOf`. So it says nothing that draft 7 reads in another way; sections stand where they
/// belong, and what keys have to do with each other is behind an `if` that is always so.
nlohmann::ordered_json JsonSchema();

}  // namespace patchbay
