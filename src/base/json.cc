#include "base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/escape.h"
#include "base/format.h"

namespace patchbay {
namespace {

using Json = nlohmann::json;

/// Stops the parser before more memory is used.
struct JsonLimitError {
  std::string message;
};

/// Returns where the parser stopped, from the number of bytes that it has read.
std::string JsonPosition(std::string_view text, std::size_t bytes_read) {
  const std::string_view before = text.substr(0, std::max<std::size_t>(bytes_read, 1) - 1);
  return Format("line {}, column {}", std::ranges::count(before, '\n') + 1,
                before.size() - (before.rfind('\n') + 1) + 1);
}

/// Returns the member, or null if it is absent or null.
const Json* FindJsonMember(const Json& object, const char* key) {
  const auto member = object.find(key);
  return member == object.end() || member->is_null() ? nullptr : &*member;
}

Failure WrongMember(const char* key, std::string_view wanted) {
  return Fail(ErrorKind::kInvalid, Format("\"{}\" must be {}", key, wanted));
}

}  // namespace

Result<Json> ParseJson(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    return Fail(ErrorKind::kInvalid,
                Format("has {} bytes, more than {}", text.size(), limits.bytes));
  }
  // The parser would treat a NUL as the end of the text.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    return Fail(ErrorKind::kInvalid, Format("has a NUL byte at {}", JsonPosition(text, nul + 1)));
  }
  std::size_t values = 0;
  const auto check = [&](int depth, Json::parse_event_t event, const Json&) {
    using Event = Json::parse_event_t;
    const bool opens = event == Event::object_start || event == Event::array_start;
    if (opens && static_cast<std::size_t>(depth) >= limits.depth) {
      throw JsonLimitError{Format("is nested deeper than {} levels", limits.depth)};
    }
    if (event != Event::object_end && event != Event::array_end && ++values > limits.values) {
      throw JsonLimitError{Format("has more than {} values", limits.values)};
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const JsonLimitError& error) {
    return Fail(ErrorKind::kInvalid, error.message);
  } catch (const Json::parse_error& error) {
    const std::string where = JsonPosition(text, error.byte);
    if (error.byte > text.size()) {
      return Fail(ErrorKind::kInvalid, Format("ends at {}, before the JSON does", where));
    }
    return Fail(ErrorKind::kInvalid,
                Format("is not valid {} at {}", IsUtf8(text) ? "JSON" : "UTF-8", where));
  } catch (const Json::exception&) {
    return Fail(ErrorKind::kInvalid, "has a number that is too large");
  }
}

Result<std::string> TextMember(const Json& object, const char* key, std::size_t max_bytes) {
  const Json* const member = FindJsonMember(object, key);
  if (member == nullptr) return std::string();
  const auto* text = member->get_ptr<const std::string*>();
  if (text == nullptr || text->size() > max_bytes) {
    return WrongMember(key, Format("a string of at most {} bytes", max_bytes));
  }
  return *text;
}

Result<std::int64_t> CountMember(const Json& object, const char* key) {
  const Json* const member = FindJsonMember(object, key);
  if (member == nullptr) return 0;
  // An unsigned number that is too large becomes negative.
  const auto count = member->is_number_integer() ? member->get<std::int64_t>() : -1;
  if (count < 0) return WrongMember(key, "an integer that is not negative");
  return count;
}

Result<bool> BoolMember(const Json& object, const char* key) {
  const Json* const member = FindJsonMember(object, key);
  if (member == nullptr) return false;
  if (!member->is_boolean()) return WrongMember(key, "a boolean");
  return member->get<bool>();
}

Result<const Json*> ObjectMember(const Json& object, const char* key) {
  const Json* const member = FindJsonMember(object, key);
  if (member != nullptr && !member->is_object()) return WrongMember(key, "an object");
  return member;
}

Result<const Json*> ObjectsMember(const Json& object, const char* key, std::size_t max_size) {
  const Json* const member = FindJsonMember(object, key);
  if (member == nullptr) return member;
  if (!member->is_array() || member->size() > max_size ||
      !std::ranges::all_of(*member, [](const Json& element) { return element.is_object(); })) {
    return WrongMember(key, Format("an array of at most {} objects", max_size));
  }
  return member;
}

bool HasMember(const Json& object, const char* key) {
  return FindJsonMember(object, key) != nullptr;
}

Failure Within(std::string_view place, Error error) {
  error.message = Format("{}: {}", place, error.message);
  return Failure(std::move(error));
}

}  // namespace patchbay
