#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "model/template.h"

namespace patchbay {

/// An attribute of a device in a ResourceSlice, by which claims select devices. Limits are those of
/// kubernetes/api resource/v1/types.go. Pure.

/// The maximum number of attributes and capacities of a device together.
inline constexpr std::size_t kMaxAttributes = 32;
/// The maximum length in bytes of a text, of a version, and of a name without its domain.
inline constexpr std::size_t kMaxAttributeText = 64;
inline constexpr std::size_t kMaxAttributeName = 32;

/// A semantic version 2.0.0.
struct SemanticVersion {
  std::string text;
  bool operator==(const SemanticVersion&) const = default;
};

using AttributeValue = std::variant<std::string, std::int64_t, bool, SemanticVersion>;

enum class AttributeType { kString, kInt, kBool, kVersion };
/// The keys of a value in [resource.attributes], in the order of AttributeType. A value that is not
/// a table is a string.
inline constexpr std::string_view kAttributeTypeNames[] = {"string", "int", "bool", "version"};

/// An attribute that the administrator defines: an entry of [resource.attributes].
struct AttributeSpec {
  std::string name;
  AttributeType type = AttributeType::kString;
  Template value;  ///< rendered for each device
  bool operator==(const AttributeSpec&) const = default;
};

/// Returns an error message if `name` is not a valid name of an attribute or a capacity of the
/// driver `driver`: an optional domain of at most 63 bytes and a slash, then a C identifier of at
/// most 32 bytes.
std::optional<std::string> ProblemWithQualifiedName(std::string_view name, std::string_view driver);
/// The same for an attribute: `resource` and `id` are reserved, because device classes select by
/// them.
std::optional<std::string> ProblemWithAttributeName(std::string_view name, std::string_view driver);

/// Returns a value of the type. Fails with kInvalid if the text does not have it, is too long for
/// the API server or is not printable UTF-8.
Result<AttributeValue> ParseAttribute(AttributeType type, const std::string& text);

/// Returns whether `text` is a semantic version 2.0.0 of at most kMaxAttributeText bytes. Its
/// numbers have at most 18 digits, because the scheduler rejects larger ones.
bool IsSemanticVersion(std::string_view text);

}  // namespace patchbay
