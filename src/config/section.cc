// The constructor visits the keys in the order of the file and checks each value by its type (the
// Check functions), then what is missing, and last the relations between keys. It keeps only which
// values are usable; the accessors read them from the TOML tree again. In relations, a boolean that
// is false counts as absent, as in the JSON Schema. An unknown key may be any key that is missing,
// so a section that has one is not checked for missing keys and relations.

#include "config/section.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/fatal.h"
#include "base/format.h"
#include "config/duration.h"
#include "config/key_diagnostics.h"

namespace patchbay {
namespace {

/// The result of a check. A list is usable if it is empty or has a valid item.
struct Checked {
  bool is_valid;
  bool is_usable;
};
constexpr Checked kValid{true, true};
constexpr Checked kInvalid{false, false};

Checked CheckTexts(const KeyInfo& key, const TomlArray& list, Reporter& reporter) {
  Checked checked{true, list.items.empty()};
  for (const TomlValue& item : list.items) {
    if (std::holds_alternative<Text>(item.value)) {
      checked.is_usable = true;
    } else {
      ReportWrongType(key, item, reporter);
      checked.is_valid = false;
    }
  }
  return checked;
}

/// Returns an attribute: a text, or a table with one key, which is the type of its text.
std::optional<AttributeText> AttributeIn(const TomlEntry& entry) {
  if (const auto* text = std::get_if<Text>(&entry.value.value)) {
    return AttributeText{entry.key, AttributeType::kString, *text};
  }
  const auto* typed = std::get_if<TomlTable>(&entry.value.value);
  if (typed == nullptr || typed->entries.size() != 1) return std::nullopt;
  const TomlEntry& only = typed->entries.front();
  const auto* text = std::get_if<Text>(&only.value.value);
  const auto* type = std::ranges::find(kAttributeTypeNames, only.key.value);
  if (text == nullptr || type == std::end(kAttributeTypeNames)) return std::nullopt;
  return AttributeText{entry.key,
                       static_cast<AttributeType>(type - std::begin(kAttributeTypeNames)), *text};
}

/// Returns a capacity: a text, or a table of texts with a value.
std::optional<CapacityText> CapacityIn(const TomlEntry& entry) {
  CapacityText capacity{.name = entry.key};
  const auto add = [&](std::string_view name, const TomlValue& value) {
    const auto* text = std::get_if<Text>(&value.value);
    const auto* key = std::ranges::find(kCapacityKeys, name);
    if (text == nullptr || key == std::end(kCapacityKeys)) return false;
    return capacity.parts.emplace(*key, *text).second;
  };
  const auto* table = std::get_if<TomlTable>(&entry.value.value);
  const auto add_part = [&](const TomlEntry& part) { return add(part.key.value, part.value); };
  const bool is_valid = table == nullptr ? add(kCapacityKeys[0], entry.value)
                                         : std::ranges::all_of(table->entries, add_part);
  if (!is_valid || !capacity.parts.contains(kCapacityKeys[0])) return std::nullopt;
  return capacity;
}

/// Returns the valid entries of a table, none for null.
template <class Entry>
std::vector<Entry> ValidEntries(const TomlTable* table,
                                std::optional<Entry> (*parse)(const TomlEntry& entry)) {
  std::vector<Entry> entries;
  if (table == nullptr) return entries;
  for (const TomlEntry& one : table->entries) {
    if (auto entry = parse(one)) entries.push_back(*std::move(entry));
  }
  return entries;
}

Checked CheckPairs(const KeyInfo& key, const TomlTable& table, Reporter& reporter) {
  Checked checked{true, table.entries.empty()};
  for (const TomlEntry& entry : table.entries) {
    const auto* list = std::get_if<TomlArray>(&entry.value.value);
    const bool is_item = key.type == ValueType::kAttributeTable ? AttributeIn(entry).has_value()
                         : key.type == ValueType::kCapacityTable
                             ? CapacityIn(entry).has_value()
                             : std::holds_alternative<Text>(entry.value.value);
    if (IsMisplaced(key, entry.key.value)) {
      ReportMisplaced(key, entry.key, reporter);
      checked.is_valid = false;
    } else if (list != nullptr && key.type == ValueType::kPatternTable && !list->items.empty()) {
      const Checked items = CheckTexts({.name = entry.key.value}, *list, reporter);
      checked.is_valid = checked.is_valid && items.is_valid;
      checked.is_usable = checked.is_usable || items.is_usable;
    } else if (is_item) {
      checked.is_usable = true;
    } else {
      ReportWrongItem(key, entry, reporter);
      checked.is_valid = false;
    }
  }
  return checked;
}

Checked CheckChoice(const KeyInfo& key, const Text& text, Reporter& reporter) {
  if (std::ranges::find(key.choices, text.value) != key.choices.end()) return kValid;
  const std::string word = text.value.substr(0, 100);
  reporter.Report(Code::kBadValue, text.place, Format("\"{}\" cannot be \"{}\"", key.name, word),
                  DidYouMean(word, key.choices, Format("must be one of {}", OneOf(key.choices))));
  return kInvalid;
}

Checked CheckRange(const KeyInfo& key, std::int64_t value, const SourceLocation& place,
                   Reporter& reporter) {
  if (key.range.Holds(value)) return kValid;
  ReportOutOfRange(key, value, place, reporter);
  return kInvalid;
}

Checked CheckDuration(const KeyInfo& key, const Text& text, Reporter& reporter) {
  if (const auto duration = ParseDuration(text.value)) {
    return CheckRange(key, duration->count(), text.place, reporter);
  }
  reporter.Report(Code::kBadValue, text.place,
                  Format("\"{}\" is not a valid duration", text.value.substr(0, 100)),
                  "use a whole number and a unit, ms, s, m or h: \"250ms\", \"30s\", \"5m\"");
  return kInvalid;
}

/// Checks the value of a key that is not a section.
Checked CheckValue(const KeyInfo& key, const TomlValue& value, Reporter& reporter) {
  const auto* text = std::get_if<Text>(&value.value);
  const auto* list = std::get_if<TomlArray>(&value.value);
  const auto* table = std::get_if<TomlTable>(&value.value);
  const auto* integer = std::get_if<std::int64_t>(&value.value);
  switch (key.type) {
    case ValueType::kStringOrStrings:
      if (list != nullptr) return CheckTexts(key, *list, reporter);
      [[fallthrough]];
    case ValueType::kString:
    case ValueType::kTemplate:
      if (text != nullptr) return kValid;
      break;
    case ValueType::kStrings:
    case ValueType::kTemplates:
      if (list != nullptr) return CheckTexts(key, *list, reporter);
      break;
    case ValueType::kChoice:
      if (text != nullptr) return CheckChoice(key, *text, reporter);
      break;
    case ValueType::kDuration:
      if (text != nullptr) return CheckDuration(key, *text, reporter);
      break;
    case ValueType::kInteger:
      if (integer != nullptr) return CheckRange(key, *integer, value.place, reporter);
      break;
    case ValueType::kBoolean:
      if (std::holds_alternative<bool>(value.value)) return kValid;
      break;
    case ValueType::kTemplateTable:
    case ValueType::kPatternTable:
    case ValueType::kAttributeTable:
    case ValueType::kCapacityTable:
      if (table != nullptr) return CheckPairs(key, *table, reporter);
      break;
    case ValueType::kTable:
    case ValueType::kTables: break;
  }
  ReportWrongType(key, value, reporter);
  return kInvalid;
}

/// The errors in the alternatives of a section.
struct Alternatives {
  std::string_view section;
  /// If the section has none of them; the names of all replace "{}".
  std::string_view none = "", none_hint = "";
  std::string_view several = "", several_hint = "";  ///< if it has more than one
};
constexpr Alternatives kAlternatives[] = {
    {.section = "daemon.kubernetes",
     .none = "credentials are missing",
     .none_hint = "set token_file, or client_certificate and client_key; in a pod with a service "
                  "account, remove [daemon.kubernetes]"},
    {.section = "resource.match",
     .none = "the match has no source",
     .none_hint = "add {}; usb, pci and udev can also be combined with path or regex",
     .several = "the match has several sources",
     .several_hint = "; a second source needs a second [[resource.match]]"},
    {.section = "resource.health",
     .none = "no probe is configured",
     .none_hint = "write exactly one of command, open = true, and file with equals or matches",
     .several = "more than one probe is configured"},
};

/// Returns the strings of a list, or the only one instead of it.
std::vector<Text> TextsIn(const TomlValue& value) {
  if (const auto* text = std::get_if<Text>(&value.value)) return {*text};
  std::vector<Text> texts;
  if (const auto* list = std::get_if<TomlArray>(&value.value)) {
    for (const TomlValue& item : list->items) {
      if (const auto* text = std::get_if<Text>(&item.value)) texts.push_back(*text);
    }
  }
  return texts;
}

bool IsEmpty(const TomlValue& value) {
  const auto* text = std::get_if<Text>(&value.value);
  const auto* list = std::get_if<TomlArray>(&value.value);
  const auto* table = std::get_if<TomlTable>(&value.value);
  return (text != nullptr && text->value.empty()) || (list != nullptr && list->items.empty()) ||
         (table != nullptr && table->entries.empty() && !table->is_cut);
}

}  // namespace

bool Section::Entry::IsOn() const {
  const auto* boolean = std::get_if<bool>(&value->value);
  return is_usable && (boolean == nullptr || *boolean);
}

Section::Section(const KeyInfo& key, const TomlTable& table, SourceLocation place,
                 Reporter& reporter)
    : keys_(KeysOf(key.table)), table_(&table), place_(std::move(place)), is_broken_(table.is_cut) {
  bool is_complete = !table.is_cut;
  for (const TomlEntry& entry : table.entries) {
    if (const KeyInfo* known = FindKey(keys_, entry.key.value)) {
      Add(*known, entry.value, reporter);
    } else {
      ReportUnknownKey(key, entry, reporter);
      is_complete = false;
    }
  }
  if (!is_complete) is_broken_ = true;
  SelectAlternative(reporter);
  if (is_complete) CheckRelations(reporter);
}

void Section::Add(const KeyInfo& key, const TomlValue& value, Reporter& reporter) {
  const auto known = std::ranges::find(entries_, &key, &Entry::key);  // in another file
  const bool is_new = known == entries_.end();
  Entry& entry = is_new ? entries_.emplace_back(Entry{&key, &value, false, {}}) : *known;
  if (key.non_empty && IsEmpty(value)) {
    ReportEmpty(key, value.place, reporter);
    is_broken_ = true;
    return;
  }
  if (!key.table.empty()) {
    if (!AddSections(value, entry, reporter)) is_broken_ = true;
    entry.is_usable = !entry.sections.empty();
    return;
  }
  const Checked checked = CheckValue(key, value, reporter);
  if (!checked.is_valid) is_broken_ = true;
  entry.is_usable = checked.is_usable;
}

/// Returns whether the value is valid.
bool Section::AddSections(const TomlValue& value, Entry& entry, Reporter& reporter) {
  const KeyInfo& key = *entry.key;
  const auto interpret = [&](const TomlValue& item) {
    const auto* table = std::get_if<TomlTable>(&item.value);
    if (table != nullptr) entry.sections.emplace_back(key, *table, item.place, reporter);
    return table != nullptr;
  };
  const auto* list = std::get_if<TomlArray>(&value.value);
  if (key.type == ValueType::kTable) {
    if (!entry.sections.empty()) {
      ReportDuplicateSection(key, value.place, entry.sections.front().place(), reporter);
      if (interpret(value)) entry.sections.pop_back();  // interpreted only to report its errors
      return false;
    }
    if (interpret(value)) return true;
  } else if (list != nullptr) {
    bool are_tables = true;
    for (const TomlValue& item : list->items) {
      if (interpret(item)) continue;
      ReportWrongType(key, item, reporter);
      are_tables = false;
    }
    return are_tables;
  } else {
    interpret(value);  // [x] instead of [[x]]
  }
  ReportWrongType(key, value, reporter);
  return false;
}

void Section::SelectAlternative(Reporter& reporter) {
  std::vector<std::string_view> names;
  int lowest = std::numeric_limits<int>::max();
  for (const Entry& entry : entries_) {
    const int group = entry.key->alternative_group;
    if (group == 0 || group > lowest || !entry.IsOn()) continue;
    if (group < lowest) names.clear();
    lowest = group;
    names.push_back(entry.key->name);
  }
  if (names.size() == 1) alternative_ = names.front();
  const auto* texts =
      std::ranges::find(kAlternatives, keys_.front().section, &Alternatives::section);
  if (texts == std::end(kAlternatives)) return;
  if (names.size() > 1) {
    reporter.Report(Code::kWrongCombination, place_, std::string(texts->several),
                    Format("keep {}{}", OneOf(names), texts->several_hint));
  } else if (names.empty() && !is_broken_) {
    reporter.Report(Code::kWrongCombination, place_, std::string(texts->none),
                    HintOnNoAlternative(texts->none_hint));
  }
}

std::string Section::HintOnNoAlternative(std::string_view general) const {
  for (const Entry& entry : entries_) {
    const bool has_relations = !entry.key->needs.empty() || !entry.key->excludes.empty();
    if (!has_relations && !entry.key->hint.empty()) return std::string(entry.key->hint);
  }
  std::vector<std::string_view> names;
  for (const KeyInfo& key : keys_) {
    if (key.alternative_group != 0) names.push_back(key.name);
  }
  std::string hint(general);
  if (const auto gap = hint.find("{}"); gap != std::string::npos) {
    hint.replace(gap, 2, OneOf(names));
  }
  return hint;
}

void Section::CheckRelations(Reporter& reporter) const {
  const auto is_given = [&](std::string_view name) {
    return std::ranges::any_of(entries_, [&](const Entry& e) { return e.key->name == name; });
  };
  for (const KeyInfo& key : keys_) {
    if (key.required && !is_given(key.name)) ReportMissingKey(key, place_, reporter);
  }
  for (const Entry& entry : entries_) {
    const KeyInfo& key = *entry.key;
    if (!entry.IsOn()) continue;
    const std::vector<std::string_view> needs = Words(key.needs);
    const auto needed = std::ranges::count_if(needs, is_given);
    if (!needs.empty() && needed != 1) {
      reporter.Report(Code::kWrongCombination, entry.value->place,
                      Format("\"{}\" needs {}{}", key.name, OneOf(needs, '"'),
                             needed == 0 ? "" : ", and only one of them"),
                      std::string(key.hint));
    }
    if (key.alternative_group != 0 && key.name != alternative_) continue;
    const std::vector<std::string_view> excluded = Words(key.excludes);
    for (const Entry& other : entries_) {
      if (!other.IsOn() || std::ranges::count(excluded, other.key->name) == 0) continue;
      reporter.Report(Code::kWrongCombination, other.value->place,
                      Format("\"{}\" cannot be combined with \"{}\"", other.key->name, key.name),
                      std::string(key.hint));
    }
  }
}

const Section::Entry* Section::Find(std::string_view name,
                                    std::initializer_list<ValueType> types) const {
  const KeyInfo* key = FindKey(keys_, name);
  if (key == nullptr || (types.size() > 0 && std::ranges::count(types, key->type) == 0)) {
    ReportFatal(Format("{} has no key \"{}\" of the type that is read",
                       SectionTitle(keys_.front().section), name));
    std::abort();
  }
  const auto entry = std::ranges::find(entries_, key, &Entry::key);
  return entry == entries_.end() || !entry->is_usable ? nullptr : &*entry;
}

template <class T>
const T* Section::ValueOf(std::string_view name, std::initializer_list<ValueType> types) const {
  const Entry* entry = Find(name, types);
  return entry == nullptr ? nullptr : std::get_if<T>(&entry->value->value);
}

const SourceLocation& Section::PlaceOf(std::string_view name) const {
  const Entry* entry = Find(name);
  return entry == nullptr ? place_ : entry->value->place;
}

std::string Section::ExampleOf(std::string_view name) const {
  return Format("{} = {}", name, FindKey(keys_, name)->example);
}

const Text* Section::GetText(std::string_view name) const {
  return ValueOf<Text>(name, {ValueType::kString, ValueType::kTemplate});
}

std::vector<Text> Section::GetTexts(std::string_view name) const {
  const Entry* entry =
      Find(name, {ValueType::kStringOrStrings, ValueType::kStrings, ValueType::kTemplates});
  return entry == nullptr ? std::vector<Text>() : TextsIn(*entry->value);
}

std::vector<TextPair> Section::GetPairs(std::string_view name) const {
  std::vector<TextPair> pairs;
  const Entry* entry = Find(name, {ValueType::kTemplateTable, ValueType::kPatternTable});
  if (entry == nullptr) return pairs;
  const bool has_lists = entry->key->type == ValueType::kPatternTable;
  for (const auto& [key, value] : std::get<TomlTable>(entry->value->value).entries) {
    if (!has_lists && !std::holds_alternative<Text>(value.value)) continue;
    for (const Text& text : TextsIn(value)) pairs.emplace_back(key, text);
  }
  return pairs;
}

std::vector<AttributeText> Section::GetAttributes(std::string_view name) const {
  return ValidEntries(ValueOf<TomlTable>(name, {ValueType::kAttributeTable}), AttributeIn);
}

std::vector<CapacityText> Section::GetCapacities(std::string_view name) const {
  return ValidEntries(ValueOf<TomlTable>(name, {ValueType::kCapacityTable}), CapacityIn);
}

const Section* Section::GetSection(std::string_view name) const {
  const Entry* entry = Find(name, {ValueType::kTable});
  return entry == nullptr ? nullptr : &entry->sections.front();
}

std::span<const Section> Section::GetSections(std::string_view name) const {
  const Entry* entry = Find(name, {ValueType::kTables});
  return entry == nullptr ? std::span<const Section>() : entry->sections;
}

void Section::Read(std::string_view name, std::string& out) const {
  if (const Text* text = GetText(name)) out = text->value;
}

void Section::Read(std::string_view name, bool& out) const {
  if (const auto* value = ValueOf<bool>(name, {ValueType::kBoolean})) out = *value;
}

void Section::Read(std::string_view name, int& out) const {
  const auto* value = ValueOf<std::int64_t>(name, {ValueType::kInteger});
  if (value != nullptr) out = static_cast<int>(*value);
}

void Section::Read(std::string_view name, std::chrono::milliseconds& out) const {
  const auto* text = ValueOf<Text>(name, {ValueType::kDuration});
  if (text != nullptr) out = ParseDuration(text->value).value();
}

int Section::ChoiceOf(std::string_view name) const {
  const Entry* entry = Find(name, {ValueType::kChoice});
  if (entry == nullptr) return -1;
  const auto& choices = entry->key->choices;
  const auto found = std::ranges::find(choices, std::get<Text>(entry->value->value).value);
  return static_cast<int>(found - choices.begin());
}

}  // namespace patchbay
