#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace patchbay {

/// Parses untrusted JSON into a bounded tree, and reads its members by type. Errors are kInvalid,
/// and their messages are the end of a sentence about the text. Pure.

/// The bounds of a text. A value costs at most about 100 bytes of memory besides its text.
struct JsonLimits {
  std::size_t bytes = std::size_t{4} << 20U;  ///< etcd stores objects of up to 1.5 MiB
  std::size_t values = 500'000;               ///< of all types, with keys
  std::size_t depth = 32;                     ///< levels of arrays and objects
};

/// Parses a text that is exactly one JSON value in UTF-8. The last one of equal keys counts. The
/// message has the position of an error and never a part of the text, which can contain secrets.
Result<nlohmann::json> ParseJson(std::string_view text, const JsonLimits& limits = {});

/// The functions below read a member of `object`. One that is absent or null has its default, as
/// have all members of a value that is not an object; any other type is an error that names it.

/// Returns the string, "" by default. Fails if it has more than `max_bytes`.
Result<std::string> TextMember(const nlohmann::json& object, const char* key,
                               std::size_t max_bytes);
/// Returns the integer, 0 by default. Fails if it is negative or has a fraction.
Result<std::int64_t> CountMember(const nlohmann::json& object, const char* key);
/// Returns the boolean, false by default.
Result<bool> BoolMember(const nlohmann::json& object, const char* key);
/// Returns the object; a null pointer by default. Valid as long as `object`.
Result<const nlohmann::json*> ObjectMember(const nlohmann::json& object, const char* key);
/// Returns an array of at most `max_size` objects; a null pointer by default. Valid as long as
/// `object`.
Result<const nlohmann::json*> ObjectsMember(const nlohmann::json& object, const char* key,
                                            std::size_t max_size);
/// Returns the error with the place where it was found in front of its message.
Failure Within(std::string_view place, Error error);
/// Returns whether the member exists and is not null.
bool HasMember(const nlohmann::json& object, const char* key);

}  // namespace patchbay
