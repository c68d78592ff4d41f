#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace patchbay {

/// Reads untrusted JSON into a bounded tree, and its members by type. A member that is absent or
/// null has its default; any other type is an error. Errors are kInvalid and name the member. Pure.

struct JsonBounds {
  std::size_t max_bytes = std::size_t{4} << 20U;  ///< etcd stores objects of up to 1.5 MiB
  std::size_t max_values = 500'000;               ///< of all types, with keys
};

/// Parses a text that is exactly one JSON object. Fails if it exceeds the bounds, is nested deeper
/// than 32 levels, is not UTF-8, or has a key twice, of which parsers choose different ones.
Result<nlohmann::json> ParseJsonObject(std::string_view text, const JsonBounds& bounds = {});

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

/// Returns whether the member exists and is not null.
bool HasMember(const nlohmann::json& object, const char* key);

/// Returns the error with the place where it was found in front of its message.
Failure Within(std::string_view place, Error error);

/// Returns the value of a quantity of Kubernetes that is a whole number, such as "50" or "1k";
/// nothing for any other text. The API server writes 1000 as "1k".
std::optional<std::int64_t> ParseQuantity(std::string_view text);

}  // namespace patchbay
