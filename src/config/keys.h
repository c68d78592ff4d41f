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
  kTemplateTable,  ///< any keys, templates for values
  kPatternTable,   ///< any keys, patterns for values
  kTable,
  kTables,
};

/// As the reference has it: "list of strings".
std::string_view Name(ValueType type);

/// The bounds of an integer; of a duration in milliseconds.
struct Range {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();

  constexpr bool Holds(std::int64_t value) const { return value >= least && value <= most; }
};

/// In milliseconds, for ranges of durations.
inline constexpr std::int64_t kSecond = 1'000;
inline constexpr std::int64_t kDay = 24 * 3'600 * kSecond;

/// What is known of a key. One table of these feeds the parser, the hints, the reference and the
/// schema.
struct KeyInfo {
  std::string_view section = "";  ///< "resource.match"; empty for the top level
  std::string_view name = "";
  ValueType type = ValueType::kString;
  std::string_view default_value =
      "";                         ///< what holds without the key, as TOML has it; may be empty
  std::string_view meaning = "";  ///< one line, without a full stop
  bool required = false;
  Range range = {};                                ///< of integers and durations
  std::span<const std::string_view> choices = {};  ///< of kChoice
  std::string_view example = "";                   ///< a value, as JSON has it
  std::string_view pattern = "";      ///< of a text, or of each in a list; see patterns.h
  std::string_view key_pattern = "";  ///< the same for the keys of a table of any keys
  bool non_empty = false;             ///< whether an empty text, list or table is a mistake
  int alternative_group =
      0;  ///< if not 0: a section has exactly one key of the lowest number that it has
  std::string_view alternative_requires = "";    ///< as the way, the table has this key
  std::span<const std::string_view> needs = {};  ///< it has no meaning unless one of them is there
  std::span<const std::string_view> excludes = {};  ///< they have no meaning beside it
};

/// A key of a section, and how its value gets into the draft of that section. `decode` reports a
/// value that does not fit and returns whether it did.
template <class D>
struct Key {
  KeyInfo info;
  bool (*decode)(const KeyInfo& info, const TomlEntry& entry, D& draft, Reporter& reporter);
};

/// The keys of the section that D is the draft of.
template <class D>
std::span<const Key<D>> KeysOf();
template <>
std::span<const Key<DocumentDraft>> KeysOf();
template <>
std::span<const Key<DaemonDraft>> KeysOf();
template <>
std::span<const Key<ResourceDraft>> KeysOf();
template <>
std::span<const Key<MatchDraft>> KeysOf();
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

/// The key of this name in the section that D is the draft of; there is one.
template <class D>
const KeyInfo& KeyOf(std::string_view name) {
  const auto keys = KeysOf<D>();
  return std::find_if(keys.begin(), keys.end(),
                      [&](const Key<D>& key) { return key.info.name == name; })
      ->info;
}

/// All keys, section by section, in the order of the reference.
std::vector<KeyInfo> AllKeys();

/// What a key takes, as the reference has it: "list of strings", "duration, 1s to 24h".
std::string TypeText(const KeyInfo& key);

/// How a section is written: "[daemon]", "[[resource.match]]", "the top level".
std::string SectionTitle(std::string_view section);

/// The words of the key `preferred_allocation`, in the order of Preference.
inline constexpr std::string_view kPreferences[] = {"none", "packed", "spread"};
/// The words of the key `before_first`, in the order of Health.
inline constexpr std::string_view kHealths[] = {"healthy", "unhealthy"};

}  // namespace patchbay
