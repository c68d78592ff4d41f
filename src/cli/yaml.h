#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/arguments.h"

namespace patchbay {

/// Returns a text as a scalar on one line: with quotes, unless it is a word that no version of YAML
/// reads as another type.
std::string YamlString(const std::string& text);

/// Returns JSON as a YAML document that parsers of YAML 1.1 and 1.2 read with the same result.
/// Texts are quoted unless they are plain words, because texts of devices are hostile. Bytes that
/// are not UTF-8 become U+FFFD.
std::string YamlText(const nlohmann::ordered_json& json);

/// Returns the result of a command in the format kJson or kYaml.
std::string ObjectText(const nlohmann::ordered_json& json, Output output);

}  // namespace patchbay
