#include "model/attribute.h"

#include <algorithm>
#include <limits>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/number.h"
#include "model/object_name.h"

namespace patchbay {
namespace {

constexpr std::size_t kMaxDomain = 63;
constexpr std::string_view kReservedAttributes[] = {"resource", "id"};

/// Returns the value, or nothing if the text is not of the type.
std::optional<AttributeValue> ValueOf(AttributeType type, const std::string& text) {
  switch (type) {
    case AttributeType::kString: return AttributeValue(text);
    case AttributeType::kInt:
      if (const auto value = ParseNumber<std::int64_t>(text)) return AttributeValue(*value);
      return std::nullopt;
    case AttributeType::kBool:
      if (text == "true" || text == "false") return AttributeValue(text == "true");
      return std::nullopt;
    case AttributeType::kVersion:
      if (IsSemanticVersion(text)) return AttributeValue(SemanticVersion{text});
      return std::nullopt;
  }
  return std::nullopt;
}

std::string_view Description(AttributeType type) {
  switch (type) {
    case AttributeType::kString: return "a string";
    case AttributeType::kInt: return "an integer of 64 bits";
    case AttributeType::kBool: return "\"true\" or \"false\"";
    case AttributeType::kVersion: return "a semantic version such as 1.2.3";
  }
  return "";
}

/// Returns whether `text` is not empty and consists of letters, digits and "-".
bool IsVersionIdentifier(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return IsAlnum(c) || c == '-'; });
}

bool IsVersionNumber(std::string_view text) {
  return !text.empty() && text.size() <= std::numeric_limits<std::int64_t>::digits10 &&
         std::ranges::all_of(text, IsDigit) && (text.size() == 1 || text.front() != '0');
}

/// A number of a pre-release must be a version number, any other identifier has a letter or "-".
bool IsPreReleaseIdentifier(std::string_view text) {
  return std::ranges::all_of(text, IsDigit) ? IsVersionNumber(text) : IsVersionIdentifier(text);
}

/// Returns whether each part between dots passes `test`, and their number if so; otherwise 0.
std::size_t CountParts(std::string_view text, bool (*test)(std::string_view)) {
  for (std::size_t parts = 1;; ++parts) {
    const auto dot = text.find('.');
    if (!test(text.substr(0, dot))) return 0;
    if (dot == std::string_view::npos) return parts;
    text.remove_prefix(dot + 1);
  }
}

}  // namespace

Result<AttributeValue> ParseAttribute(AttributeType type, const std::string& text) {
  if (text.size() > kMaxAttributeText) {
    return Fail(ErrorKind::kInvalid, Format("\"{}\" has {} bytes, and the API server accepts {}",
                                            Truncate(text, 80), text.size(), kMaxAttributeText));
  }
  if (!IsPrintable(text)) {
    return Fail(ErrorKind::kInvalid, Format("\"{}\" is not printable UTF-8", Truncate(text, 80)));
  }
  auto value = ValueOf(type, text);
  if (!value) {
    return Fail(ErrorKind::kInvalid, Format("\"{}\" is not {}", text, Description(type)));
  }
  return *std::move(value);
}

std::optional<std::string> ProblemWithQualifiedName(std::string_view name,
                                                    std::string_view driver) {
  std::string_view identifier = name;
  if (const auto slash = name.find('/'); slash != std::string_view::npos) {
    const std::string_view domain = name.substr(0, slash);
    if (domain == driver) {
      return Format("write the name without \"{}/\", which is the default", driver);
    }
    if (domain.size() > kMaxDomain || !IsDnsSubdomain(domain)) {
      return Format("the part before the slash must be a lower-case domain of at most {} bytes",
                    kMaxDomain);
    }
    identifier.remove_prefix(slash + 1);
  }
  const auto fits = [](char c) { return IsAlnum(c) || c == '_'; };
  if (identifier.empty() || identifier.size() > kMaxAttributeName || IsDigit(identifier.front()) ||
      !std::ranges::all_of(identifier, fits)) {
    return Format(
        "the name must be 1 to {} letters, digits and \"_\", and must not begin with a digit",
        kMaxAttributeName);
  }
  return std::nullopt;
}

std::optional<std::string> ProblemWithAttributeName(std::string_view name,
                                                    std::string_view driver) {
  if (std::ranges::count(kReservedAttributes, name) > 0) {
    return Format(
        "\"{}\" is set by Patchbay, because device classes select by it; choose another "
        "name",
        name);
  }
  return ProblemWithQualifiedName(name, driver);
}

bool IsSemanticVersion(std::string_view text) {
  if (text.size() > kMaxAttributeText) return false;
  if (const auto plus = text.find('+'); plus != std::string_view::npos) {
    if (CountParts(text.substr(plus + 1), IsVersionIdentifier) == 0) return false;
    text = text.substr(0, plus);
  }
  if (const auto dash = text.find('-'); dash != std::string_view::npos) {
    if (CountParts(text.substr(dash + 1), IsPreReleaseIdentifier) == 0) return false;
    text = text.substr(0, dash);
  }
  return CountParts(text, IsVersionNumber) == 3;
}

}  // namespace patchbay
