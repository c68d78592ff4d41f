#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay {

enum class ValueType {
  kString,
  kTemplate,
  kStringOrStrings,
  kStrings,
  kTemplates,
  kChoice,
  kInteger,
  kBoolean,
  kDuration,
  kTemplateTable,   ///< arbitrary keys; the values are templates
  kPatternTable,    ///< arbitrary keys; the values are patterns
  kAttributeTable,  ///< arbitrary keys; a value is a template, or a table of its type and a
                    ///< template
  kCapacityTable,   ///< arbitrary keys; a value is a template, or a table of kCapacityKeys
  kTable,
  kTables,
};

/// Returns the name of the type in the reference: "list of strings".
std::string_view Name(ValueType type);

/// The inclusive bounds of an integer, or of a duration in milliseconds.
struct Range {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();

  constexpr bool Holds(std::int64_t value) const { return value >= min && value <= max; }
};

/// The description of a key. The table of these in keys.cc is the source for the checks of
/// config/section.h, the hints, the reference and the JSON Schema.
struct KeyInfo {
  std::string_view section = "";  ///< "resource.match"; empty for the top level
  std::string_view name = "";
  ValueType type = ValueType::kString;
  std::string_view meaning = "";  ///< one line, without a period
  /// Of kTable and kTables: the section with the keys of the table, which several keys can share.
  std::string_view table = "";
  std::string_view default_value = "";  ///< the value without the key, in TOML; "" if there is none
  bool required = false;
  Range range = {};                                ///< of integers and durations
  std::span<const std::string_view> choices = {};  ///< the allowed words of kChoice
  std::string_view example = "";                   ///< a value, in JSON
  bool non_empty = false;                          ///< an empty string, list or table is an error
  /// Keys with a number other than 0 are alternatives: a section must have one of them, and only
  /// one of the lowest number that it has. Keys with higher numbers can be added to that one.
  int alternative_group = 0;
  /// If the key is the selected alternative, its table must have this key.
  std::string_view alternative_requires = "";
  std::string_view needs = "";  ///< the key requires exactly one of these, see Words
  /// Keys that cannot be combined with this one; if this one is an alternative, only while it is
  /// the selected one.
  std::string_view excludes = "";
  /// On an error of `needs` or `excludes`; of a key without both, on a missing alternative.
  std::string_view hint = "";
};

/// Returns all keys, section by section, in the order of the reference.
std::span<const KeyInfo> AllKeys();

/// Returns the keys of one section.
std::span<const KeyInfo> KeysOf(std::string_view section);

/// Returns the words of a list in the table, in which a space separates them: "equals matches".
std::vector<std::string_view> Words(std::string_view list);

/// Returns the key with this name, or null.
const KeyInfo* FindKey(std::span<const KeyInfo> keys, std::string_view name);

/// Returns whether an entry of `table`, a table with arbitrary keys, has the name of a key that was
/// probably meant for another section: TOML assigns a line below the header of a table to it.
bool IsMisplaced(const KeyInfo& table, std::string_view name);

/// Returns a number as a value of the key, which can be a duration: "90", "90s".
std::string NumberText(const KeyInfo& key, std::int64_t number);

/// Returns the type and bounds of a key as in the reference: "list of strings",
/// "duration, 1s to 24h".
std::string TypeText(const KeyInfo& key);

/// Return the TOML header of a table, or of the first one with the keys of a section: "[daemon]",
/// "[[resource.match]]", or "the top level" without a name.
std::string SectionTitle(const KeyInfo& table);
std::string SectionTitle(std::string_view section);

}  // namespace patchbay
