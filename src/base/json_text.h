#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay {

/// Splits untrusted JSON into slices of its text: without a tree in memory, with bounds, and so
/// that an object of the API server can be passed on as it is. Pure.

/// The maximum nesting of arrays and objects. Objects of the API need about ten.
inline constexpr std::size_t kMaxJsonNesting = 64;

/// Returns whether `text` is exactly one JSON value, in UTF-8, with at most kMaxJsonNesting levels.
bool IsJson(std::string_view text);

/// A member of an object. Both are slices of the object.
struct JsonMember {
  std::string_view key;  ///< between the quotes, with escapes: a key with escapes matches no name
  std::string_view value;
};

/// Returns the members of an object. Returns nothing if the value is not an object, or if a key
/// occurs twice, because parsers disagree on which one counts. Precondition: IsJson(value).
std::optional<std::vector<JsonMember>> MembersOfJson(std::string_view value);

/// Returns the elements of an array; nothing if the value is not an array, or has more than `max`
/// elements. Precondition: IsJson(value).
std::optional<std::vector<std::string_view>> ElementsOfJson(
    std::string_view value, std::size_t max = std::numeric_limits<std::size_t>::max());

/// Returns the value of a member; "" if there is none, which no JSON value is.
std::string_view FindMember(const std::vector<JsonMember>& members, std::string_view key);

/// Returns the text of a JSON string; nothing if the value is not a string, or has more than
/// `max_bytes` between its quotes. Precondition: IsJson(value), or an empty value.
std::optional<std::string> TextOfJson(std::string_view value, std::size_t max_bytes);

}  // namespace patchbay
