// TreeBuilder receives the events of nlohmann-json and builds the tree itself, so that the bounds
// are checked before memory is used. It keeps a pointer to each open array or object. The pointers
// stay valid, because only the innermost one grows.
//
// Objects of the API have parts that belong to others, such as the parameters of another driver. So
// an object with a key twice, and one that is nested too deep, fails only if it is read: it becomes
// a binary value, which JSON does not have, with the reason.

#include "dra/json_fields.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/escape.h"
#include "base/format.h"

namespace patchbay {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxNesting = 32;

/// Returns a value that fails for this reason when it is read.
Json Unreadable(std::string_view reason) {
  return Json::binary(Json::binary_t::container_type(reason.begin(), reason.end()));
}
/// Returns that reason; empty for all other values.
std::string WhyUnreadable(const Json& json) {
  if (!json.is_binary()) return "";
  return {json.get_binary().begin(), json.get_binary().end()};
}

class TreeBuilder : public nlohmann::json_sax<Json> {
 public:
  explicit TreeBuilder(std::size_t max_values) : values_left_(max_values) {}

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(number_integer_t value) override { return Add(value); }
  bool number_unsigned(number_unsigned_t value) override { return Add(value); }
  bool number_float(number_float_t value, const string_t&) override { return Add(value); }
  bool string(string_t& text) override { return Add(std::move(text)); }
  bool binary(binary_t&) override { return false; }  // not in JSON
  bool start_object(std::size_t) override { return Open(Json::object()); }
  bool start_array(std::size_t) override { return Open(Json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override;
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Reject(Format("is not valid JSON at byte {}", position));
  }

  Json& root() { return root_; }
  const std::string& error() const { return error_; }

 private:
  /// An array or object whose end was not reached.
  struct Container {
    Json* json;
    std::string problem = {};  ///< why it must not be read; usually empty
  };
  /// Return false, and set the error, if the value exceeds a bound.
  bool Add(Json value);
  bool Open(Json value);
  bool Close();
  bool Count();
  Json& Place(Json value);
  bool Reject(std::string error) {
    if (error_.empty()) error_ = std::move(error);
    return false;
  }

  std::size_t values_left_;
  Json root_;
  std::vector<Container> open_;
  std::size_t too_deep_ = 0;  ///< open arrays and objects that are not in the tree
  std::string key_;           ///< of the next value
  std::string error_;
};

bool TreeBuilder::Count() {
  if (values_left_ == 0) return Reject("has too many values");
  --values_left_;
  return true;
}

/// Adds a value to the innermost array or object.
Json& TreeBuilder::Place(Json value) {
  if (open_.empty()) return root_ = std::move(value);
  Json& parent = *open_.back().json;
  if (!parent.is_array()) return parent[key_] = std::move(value);
  parent.push_back(std::move(value));
  return parent.back();
}

bool TreeBuilder::Add(Json value) {
  if (!Count()) return false;
  if (too_deep_ == 0) Place(std::move(value));
  return true;
}

bool TreeBuilder::Open(Json value) {
  if (!Count()) return false;
  if (too_deep_ > 0 || open_.size() >= kMaxNesting) {
    ++too_deep_;
    open_.back().problem = Format("is nested deeper than {} levels", kMaxNesting);
  } else {
    open_.push_back({&Place(std::move(value))});
  }
  return true;
}

bool TreeBuilder::Close() {
  if (too_deep_ > 0) {
    --too_deep_;
    return true;
  }
  const std::string problem = std::move(open_.back().problem);
  if (!problem.empty()) *open_.back().json = Unreadable(problem);
  open_.pop_back();
  return true;
}

bool TreeBuilder::key(string_t& name) {
  if (!Count()) return false;
  if (too_deep_ > 0) return true;
  Container& object = open_.back();
  if (object.json->contains(name)) {
    object.problem = Format("has the key \"{}\" twice", Truncate(name, 60));
  }
  key_ = std::move(name);
  return true;
}

/// Returns the member, or null if it is absent or null.
const Json* FindJsonMember(const Json& object, const char* key) {
  const auto member = object.find(key);
  return member == object.end() || member->is_null() ? nullptr : &*member;
}

/// `found` is the value that is not as wanted: the member or a part of it.
Failure WrongMember(const char* key, const Json& found, std::string_view wanted) {
  const std::string problem = WhyUnreadable(found);
  return Fail(ErrorKind::kInvalid, problem.empty() ? Format("\"{}\" must be {}", key, wanted)
                                                   : Format("\"{}\" {}", key, problem));
}

}  // namespace

Result<Json> ParseJsonObject(std::string_view text, const JsonBounds& bounds) {
  if (text.size() > bounds.max_bytes) {
    return Fail(ErrorKind::kInvalid,
                Format("has {} bytes, more than {}", text.size(), bounds.max_bytes));
  }
  // The parser would treat a NUL as the end of the input, and skip a byte order mark.
  if (text.find('\0') != std::string_view::npos || text.starts_with("\xEF\xBB\xBF")) {
    return Fail(ErrorKind::kInvalid, "has bytes that are not JSON");
  }
  TreeBuilder builder(bounds.max_values);
  if (!Json::sax_parse(text, &builder)) return Fail(ErrorKind::kInvalid, builder.error());
  const std::string problem = WhyUnreadable(builder.root());
  if (!problem.empty()) return Fail(ErrorKind::kInvalid, problem);
  if (!builder.root().is_object()) return Fail(ErrorKind::kInvalid, "is not a JSON object");
  return std::move(builder.root());
}

Result<std::string> TextMember(const Json& object, const char* key, std::size_t max_bytes) {
  const Json* const member = FindJsonMember(object, key);
  if (member == nullptr) return std::string();
  const auto* text = member->get_ptr<const std::string*>();
  if (text == nullptr || text->size() > max_bytes) {
    return WrongMember(key, *member, Format("a string of at most {} bytes", max_bytes));
  }
  return *text;
}

Result<std::int64_t> CountMember(const Json& object, const char* key) {
  const Json* const member = FindJsonMember(object, key);
  if (member == nullptr) return 0;
  if (!member->is_number_unsigned() ||
      member->get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    return WrongMember(key, *member, "an integer that is not negative");
  }
  return member->get<std::int64_t>();
}

Result<bool> BoolMember(const Json& object, const char* key) {
  const Json* const member = FindJsonMember(object, key);
  if (member == nullptr) return false;
  if (!member->is_boolean()) return WrongMember(key, *member, "a boolean");
  return member->get<bool>();
}

Result<const Json*> ObjectMember(const Json& object, const char* key) {
  const Json* const member = FindJsonMember(object, key);
  if (member != nullptr && !member->is_object()) return WrongMember(key, *member, "an object");
  return member;
}

Result<const Json*> ObjectsMember(const Json& object, const char* key, std::size_t max_size) {
  const Json* const member = FindJsonMember(object, key);
  if (member == nullptr) return member;
  const std::string wanted = Format("an array of at most {} objects", max_size);
  if (!member->is_array() || member->size() > max_size) return WrongMember(key, *member, wanted);
  for (const Json& element : *member) {
    if (!element.is_object()) return WrongMember(key, element, wanted);
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

std::optional<std::int64_t> ParseQuantity(std::string_view text) {
  constexpr std::string_view kSuffixes = "kMGTPE";
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  if (suffix.empty()) return value;
  const auto power = kSuffixes.find(suffix.front());
  if (suffix.size() > 1 || power == std::string_view::npos) return std::nullopt;
  for (std::size_t i = 0; i <= power; ++i) {
    if (value > std::numeric_limits<std::int64_t>::max() / 1000) return std::nullopt;
    value *= 1000;
  }
  return value;
}

}  // namespace patchbay
