#include "base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/escape.h"
#include "base/format.h"

namespace patchbay {
namespace {

using Json = nlohmann::json;

/// Returns where the parser stopped, from the number of bytes that it has read.
std::string JsonPosition(std::string_view text, std::size_t bytes_read) {
  const std::string_view before = text.substr(0, std::max<std::size_t>(bytes_read, 1) - 1);
  return Format("line {}, column {}", std::ranges::count(before, '\n') + 1,
                before.size() - (before.rfind('\n') + 1) + 1);
}

/// Reads a text without keeping it, and finds what is wrong with it. Json::parse with a callback
/// could do both at once, but looks at all members of an array again after each object in it.
class Checker final : public nlohmann::json_sax<Json> {
 public:
  Checker(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {}

  const std::string& problem() const { return problem_; }

  bool null() override { return Count(); }
  bool boolean(bool) override { return Count(); }
  bool number_integer(number_integer_t) override { return Count(); }
  bool number_unsigned(number_unsigned_t) override { return Count(); }
  bool number_float(number_float_t, const string_t&) override { return Count(); }
  bool string(string_t&) override { return Count(); }
  bool binary(binary_t&) override { return Count(); }
  bool key(string_t&) override { return Count(); }
  bool start_object(std::size_t) override { return Open(); }
  bool start_array(std::size_t) override { return Open(); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool parse_error(std::size_t position, const std::string&,
                   const Json::exception& error) override {
    const bool is_syntax = dynamic_cast<const Json::parse_error*>(&error) != nullptr;
    if (!is_syntax) return Refuse("has a number that is too large");
    const std::string where = JsonPosition(text_, position);
    if (position > text_.size()) return Refuse(Format("ends at {}, before the JSON does", where));
    return Refuse(Format("is not valid {} at {}", IsUtf8(text_) ? "JSON" : "UTF-8", where));
  }

 private:
  bool Refuse(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }
  bool Count() {
    return ++values_ <= limits_.values || Refuse(Format("has more than {} values", limits_.values));
  }
  bool Open() {
    return ++depth_ <= limits_.depth
               ? Count()
               : Refuse(Format("is nested deeper than {} levels", limits_.depth));
  }
  bool Close() {
    --depth_;
    return true;
  }

  const std::string_view text_;
  const JsonLimits& limits_;
  std::size_t values_ = 0;
  std::size_t depth_ = 0;
  std::string problem_;
};

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
  Checker checker(text, limits);
  if (!Json::sax_parse(text, &checker)) return Fail(ErrorKind::kInvalid, checker.problem());
  return Json::parse(text);
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
