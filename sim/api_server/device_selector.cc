#include "sim/api_server/device_selector.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "sim/api_server/field_errors.h"

namespace patchbay::api_sim {
namespace {

/// Reads an expression token by token. Each function skips spaces first, and reads nothing if the
/// next token is another one.
class SelectorReader {
 public:
  explicit SelectorReader(std::string_view text) : rest_(text) {}

  bool Take(std::string_view token) {
    SkipSpaces();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  bool AtEnd() {
    SkipSpaces();
    return rest_.empty();
  }

  /// A string in single or double quotes, without escapes.
  std::optional<std::string> TakeString() {
    SkipSpaces();
    if (rest_.empty() || (rest_[0] != '"' && rest_[0] != '\'')) return std::nullopt;
    const std::size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(rest_.substr(1, end - 1));
    if (text.find('\\') != std::string::npos) return std::nullopt;
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::optional<std::string> TakeName() {
    SkipSpaces();
    std::size_t end = 0;
    while (end < rest_.size() && (IsAlnum(rest_[end]) || rest_[end] == '_')) ++end;
    if (end == 0) return std::nullopt;
    std::string name(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return name;
  }

  std::optional<std::int64_t> TakeNumber() {
    SkipSpaces();
    std::int64_t number = 0;
    const auto [end, problem] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (problem != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return number;
  }

 private:
  void SkipSpaces() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }

  std::string_view rest_;
};

/// Reads `device.attributes["DOMAIN"].NAME == VALUE` after its first word.
std::optional<AttributeCondition> ReadCondition(SelectorReader& reader) {
  AttributeCondition condition;
  if (!reader.Take("[")) return std::nullopt;
  auto domain = reader.TakeString();
  if (!domain || !reader.Take("]") || !reader.Take(".")) return std::nullopt;
  auto name = reader.TakeName();
  if (!name || !reader.Take("==")) return std::nullopt;
  condition.domain = *std::move(domain);
  condition.name = *std::move(name);
  if (auto text = reader.TakeString()) {
    condition.value = *std::move(text);
  } else if (const auto number = reader.TakeNumber()) {
    condition.value = *number;
  } else if (const auto word = reader.TakeName(); word == "true" || word == "false") {
    condition.value = word == "true";
  } else {
    return std::nullopt;
  }
  return condition;
}

bool ReadTerm(SelectorReader& reader, DeviceSelector& selector) {
  if (reader.Take("device.driver")) {
    if (!reader.Take("==")) return false;
    auto driver = reader.TakeString();
    if (!driver) return false;
    selector.drivers.push_back(*std::move(driver));
    return true;
  }
  if (!reader.Take("device.attributes")) return false;
  auto condition = ReadCondition(reader);
  if (!condition) return false;
  selector.attributes.push_back(*std::move(condition));
  return true;
}

bool HasValue(const Json& attribute, const AttributeCondition& condition) {
  if (const auto* text = std::get_if<std::string>(&condition.value)) {
    return Text(attribute, "string") == *text || Text(attribute, "version") == *text;
  }
  if (const auto* number = std::get_if<std::int64_t>(&condition.value)) {
    return Member(attribute, "int") == *number;
  }
  return Member(attribute, "bool") == std::get<bool>(condition.value);
}

}  // namespace

Result<DeviceSelector> ParseSelector(std::string_view expression) {
  DeviceSelector selector;
  SelectorReader reader(expression);
  do {
    if (!ReadTerm(reader, selector)) break;
    if (reader.AtEnd()) return selector;
  } while (reader.Take("&&"));
  return Fail(ErrorKind::kInvalid,
              Format("the built-in API server does not evaluate CEL: cannot use the selector {}; "
                     "it must be a conjunction of device.driver == \"…\" and "
                     "device.attributes[\"…\"].name == value",
                     QuoteJson(expression)));
}

bool Matches(const DeviceSelector& selector, std::string_view driver, const Json& device) {
  const bool has_driver = std::all_of(selector.drivers.begin(), selector.drivers.end(),
                                      [&](const std::string& name) { return name == driver; });
  const Json& attributes = Member(device, "attributes");
  return has_driver && std::all_of(selector.attributes.begin(), selector.attributes.end(),
                                   [&](const AttributeCondition& condition) {
                                     const Json* attribute = &Member(
                                         attributes, condition.domain + "/" + condition.name);
                                     if (attribute->is_null() && condition.domain == driver) {
                                       attribute = &Member(attributes, condition.name);
                                     }
                                     return HasValue(*attribute, condition);
                                   });
}

}  // namespace patchbay::api_sim
