#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/draft.h"
#include "config/reporter.h"

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

/// Milliseconds, for ranges of durations.
inline constexpr std::int64_t kSecond = 1'000;
inline constexpr std::int64_t kDay = 24 * 3'600 * kSecond;

/// The description of a key. One table of these is the source for the parser, the hints, the
/// reference and the JSON Schema.
struct KeyInfo {
  std::string_view section = "";  ///< "resource.match"; empty for the top level
  std::string_view name = "";
  /// Of a table or list of tables: the section with its keys, which several keys can share.
  std::string_view table = "";
  ValueType type = ValueType::kString;
  std::string_view default_value =
      "";                         ///< the value without the key, in TOML; empty if there is none
  std::string_view meaning = "";  ///< one line, without a period
  bool required = false;
  Range range = {};                                ///< of integers and durations
  std::span<const std::string_view> choices = {};  ///< the allowed words of kChoice
  std::string_view example = "";                   ///< a value, in JSON
  std::string_view pattern = "";      ///< of a string or each list item; see schema_patterns.h
  std::string_view key_pattern = "";  ///< the same for the keys of a table with arbitrary keys
  /// An empty string, list or table is an error: in the schema by this flag, in `check` by the code
  /// that compiles the section, with a message of its own.
  bool non_empty = false;
  /// Keys with a number other than 0 are alternatives: a section must have one of them, and only
  /// one of the lowest number that it has. Keys with higher numbers can be added to that one.
  int alternative_group = 0;
  /// If the key is the selected alternative, its table must have this key.
  std::string_view alternative_requires = "";
  std::span<const std::string_view> needs = {};     ///< the key requires at least one of these
  std::span<const std::string_view> excludes = {};  ///< keys that cannot be combined with it
};

/// A key of a section with the function that decodes its value into the draft of that section.
/// `decode` reports an invalid value and returns whether the value is usable.
template <class D>
struct Key {
  KeyInfo info;
  bool (*decode)(const KeyInfo& info, const TomlEntry& entry, D& draft, Reporter& reporter);
};

/// Returns the keys of the section whose draft is D.
template <class D>
std::span<const Key<D>> KeysOf();
template <>
std::span<const Key<DocumentDraft>> KeysOf();
template <>
std::span<const Key<DaemonDraft>> KeysOf();
template <>
std::span<const Key<DraDraft>> KeysOf();
template <>
std::span<const Key<KubernetesDraft>> KeysOf();
template <>
std::span<const Key<ResourceDraft>> KeysOf();
template <>
std::span<const Key<MatchDraft>> KeysOf();
template <>
std::span<const Key<ConditionsDraft>> KeysOf();
template <>
std::span<const Key<UdevDraft>> KeysOf();
template <>
std::span<const Key<DeviceNodeDraft>> KeysOf();
template <>
std::span<const Key<MountDraft>> KeysOf();
template <>
std::span<const Key<HealthDraft>> KeysOf();
template <>
std::span<const Key<HooksDraft>> KeysOf();
template <>
std::span<const Key<PreStartDraft>> KeysOf();
template <>
std::span<const Key<AllocateDraft>> KeysOf();
template <>
std::span<const Key<ReleaseDraft>> KeysOf();

/// Returns the key with this name in the section whose draft is D. The key must exist.
template <class D>
const KeyInfo& KeyOf(std::string_view name) {
  const auto keys = KeysOf<D>();
  return std::find_if(keys.begin(), keys.end(),
                      [&](const Key<D>& key) { return key.info.name == name; })
      ->info;
}

/// Returns all keys, section by section, in the order of the reference.
std::vector<KeyInfo> AllKeys();

/// Returns the type and bounds of a key as in the reference: "list of strings",
/// "duration, 1s to 24h".
std::string TypeText(const KeyInfo& key);

/// Returns the TOML header of a section, "[daemon]" or "[[resource.match]]", or "the top level".
std::string SectionTitle(std::string_view section);

/// The allowed words of the key `preferred_allocation`, in the order of Preference.
inline constexpr std::string_view kPreferences[] = {"none", "packed", "spread"};
/// The allowed words of the key `before_first`, in the order of Health.
inline constexpr std::string_view kHealths[] = {"healthy", "unhealthy"};

}  // namespace patchbay
