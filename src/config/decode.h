#pragma once

#include <concepts>
#include <set>
#include <type_traits>

#include "config/key_diagnostics.h"
#include "config/keys.h"
#include "config/toml_text.h"

namespace patchbay {

/// Decoding of TOML values into drafts. Each Decode reports a value of the wrong type or outside
/// its bounds and returns whether the value is usable. ValueTypeOf returns the type that the
/// reference shows for a member.

bool Decode(const KeyInfo& key, const TomlValue& value, Text& out, Reporter& reporter);
bool Decode(const KeyInfo& key, const TomlValue& value, Choice& out, Reporter& reporter);
bool Decode(const KeyInfo& key, const TomlValue& value, TextList& out, Reporter& reporter);
bool Decode(const KeyInfo& key, const TomlValue& value, OneOrMore& out, Reporter& reporter);
bool Decode(const KeyInfo& key, const TomlValue& value, TemplatePairs& out, Reporter& reporter);
bool Decode(const KeyInfo& key, const TomlValue& value, AttributePairs& out, Reporter& reporter);
bool Decode(const KeyInfo& key, const TomlValue& value, std::string& out, Reporter& reporter);
bool Decode(const KeyInfo& key, const TomlValue& value, bool& out, Reporter& reporter);
bool Decode(const KeyInfo& key, const TomlValue& value, int& out, Reporter& reporter);
bool Decode(const KeyInfo& key, const TomlValue& value, std::chrono::milliseconds& out,
            Reporter& reporter);
/// Decodes a word into an enumeration whose values are in the order of the key's choices.
template <class E>
requires std::is_enum_v<E>
bool Decode(const KeyInfo& key, const TomlValue& value, E& out, Reporter& reporter) {
  Choice choice;
  if (!Decode(key, value, choice, reporter)) return false;
  out = static_cast<E>(choice.value);
  return true;
}

inline constexpr ValueType ValueTypeOf(const std::string*) { return ValueType::kString; }
inline constexpr ValueType ValueTypeOf(const bool*) { return ValueType::kBoolean; }
inline constexpr ValueType ValueTypeOf(const int*) { return ValueType::kInteger; }
inline constexpr ValueType ValueTypeOf(const std::chrono::milliseconds*) {
  return ValueType::kDuration;
}
template <class E>
requires std::is_enum_v<E>
constexpr ValueType ValueTypeOf(const E*) { return ValueType::kChoice; }
inline constexpr ValueType ValueTypeOf(const Text*) { return ValueType::kString; }
inline constexpr ValueType ValueTypeOf(const TemplateText*) { return ValueType::kTemplate; }
inline constexpr ValueType ValueTypeOf(const Choice*) { return ValueType::kChoice; }
inline constexpr ValueType ValueTypeOf(const OneOrMore*) { return ValueType::kStringOrStrings; }
inline constexpr ValueType ValueTypeOf(const TextList*) { return ValueType::kStrings; }
inline constexpr ValueType ValueTypeOf(const TemplateList*) { return ValueType::kTemplates; }
inline constexpr ValueType ValueTypeOf(const TemplatePairs*) { return ValueType::kTemplateTable; }
inline constexpr ValueType ValueTypeOf(const PatternPairs*) { return ValueType::kPatternTable; }
inline constexpr ValueType ValueTypeOf(const AttributePairs*) { return ValueType::kAttributeTable; }
inline constexpr ValueType ValueTypeOf(const Draft*) { return ValueType::kTable; }

/// Decodes every key of a section into its member of `draft`. Reports unknown and missing keys.
/// Always returns true, because the draft is usable in any case.
template <class D>
bool DecodeSection(const TomlTable& table, const SourceLocation& place, D& draft,
                   Reporter& reporter) {
  draft.place = place;
  if constexpr (requires { draft.text; }) draft.text = TomlText(table);
  std::set<std::string_view> seen;
  for (const TomlEntry& entry : table.entries) {
    const Key<D>* found = nullptr;
    for (const Key<D>& key : KeysOf<D>()) {
      if (key.info.name == entry.key.value) found = &key;
    }
    if (found != nullptr) {
      seen.insert(found->info.name);
      if constexpr (requires { draft.keys; }) {
        draft.keys.push_back({found->info.name, entry.value.place});
      }
      if (!found->decode(found->info, entry, draft, reporter)) draft.broken = true;
    } else {
      std::vector<std::string_view> known;
      for (const Key<D>& key : KeysOf<D>()) known.push_back(key.info.name);
      // A misspelled key is not also reported as missing.
      seen.insert(ReportUnknownKey(entry, D::kSection, known, reporter));
      draft.broken = true;
    }
  }
  for (const Key<D>& key : KeysOf<D>()) {
    if (key.info.required && !seen.contains(key.info.name)) {
      ReportMissingKey(key.info, place, reporter);
    }
  }
  return true;
}

/// Decodes a section that may appear only once.
template <class D>
requires std::derived_from<D, Draft>
bool Decode(const KeyInfo& key, const TomlValue& value, std::optional<D>& out, Reporter& reporter) {
  const auto* table = std::get_if<TomlTable>(&value.value);
  if (table == nullptr) {
    ReportWrongType(key, value, reporter);
    return false;
  }
  if (out) {
    ReportDuplicateSection(key, value.place, out->place, reporter);
    D unused;  // decoded only to report its errors
    DecodeSection(*table, value.place, unused, reporter);
    return false;
  }
  return DecodeSection(*table, value.place, out.emplace(), reporter);
}

/// Decodes a value and stores its location.
template <class T>
bool Decode(const KeyInfo& key, const TomlValue& value, Spanned<T>& out, Reporter& reporter) {
  out.place = value.place;
  return Decode(key, value, out.value, reporter);
}

/// Decodes a value that may be absent. Keeps the valid items of an invalid list, so that later
/// steps check them too.
template <class T>
bool Decode(const KeyInfo& key, const TomlValue& value, std::optional<T>& out, Reporter& reporter) {
  T bound;
  const bool good = Decode(key, value, bound, reporter);
  bool keep = good;
  if constexpr (requires { bound.items; }) keep = keep || !bound.items.empty();
  if (keep) out = std::move(bound);
  return good;
}

/// Decodes a section that may appear any number of times. Appends the sections of `value` to `out`.
template <class D>
bool Decode(const KeyInfo& key, const TomlValue& value, std::vector<D>& out, Reporter& reporter) {
  const auto* array = std::get_if<TomlArray>(&value.value);
  if (array == nullptr) {
    ReportWrongType(key, value, reporter);
    if (const auto* table = std::get_if<TomlTable>(&value.value)) {  // [x] instead of [[x]]
      DecodeSection(*table, value.place, out.emplace_back(), reporter);
    }
    return false;
  }
  if (array->items.empty() && key.required) ReportMissingKey(key, value.place, reporter);
  bool all = true;
  for (const TomlValue& item : array->items) {
    if (const auto* table = std::get_if<TomlTable>(&item.value)) {
      DecodeSection(*table, item.place, out.emplace_back(), reporter);
    } else {
      ReportWrongType(key, item, reporter);
      all = false;
    }
  }
  return all;
}

template <class T>
constexpr ValueType ValueTypeOf(const Spanned<T>*) {
  return ValueTypeOf(static_cast<const T*>(nullptr));
}
template <class T>
constexpr ValueType ValueTypeOf(const std::optional<T>*) {
  return ValueTypeOf(static_cast<const T*>(nullptr));
}
template <class D>
constexpr ValueType ValueTypeOf(const std::vector<D>*) {
  return ValueType::kTables;
}

namespace detail {
template <class D, class T>
D DraftOf(T D::*);
}  // namespace detail

/// Returns the table row of a key that is decoded into `Member` of a draft, or into `More` of that
/// member. The section and the type are derived from the members.
template <auto Member, auto... More>
constexpr auto KeyFor(KeyInfo info) {
  using D = decltype(detail::DraftOf(Member));
  using T = std::remove_cvref_t<decltype(((std::declval<D&>().*Member).*....*More))>;
  info.section = D::kSection;
  info.type = ValueTypeOf(static_cast<const T*>(nullptr));
  return Key<D>{info, [](const KeyInfo& key, const TomlEntry& entry, D& draft, Reporter& reporter) {
                  return Decode(key, entry.value, ((draft.*Member).*....*More), reporter);
                }};
}

}  // namespace patchbay
