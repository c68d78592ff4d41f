#include "config/bind.h"

#include <algorithm>
#include <cctype>

#include "base/format.h"
#include "config/duration.h"

namespace patchbay {
namespace {

/// What a value is, in words.
std::string_view KindOf(const TomlValue& value) {
  struct Visitor {
    std::string_view operator()(const TomlOther& other) const { return other.kind; }
    std::string_view operator()(const Text&) const { return "a string"; }
    std::string_view operator()(std::int64_t) const { return "an integer"; }
    std::string_view operator()(bool) const { return "true or false"; }
    std::string_view operator()(const TomlArray&) const { return "a list"; }
    std::string_view operator()(const TomlTable&) const { return "a table"; }
  };
  return std::visit(Visitor(), value.value);
}

/// How to write a value of the type.
std::string ExampleOf(const KeyInfo& key) {
  switch (key.type) {
    case ValueType::kString:
    case ValueType::kTemplate: return format("write {} = \"…\"", key.name);
    case ValueType::kStringOrStrings: return format("write {0} = \"…\" or {0} = [\"…\"]", key.name);
    case ValueType::kStrings:
    case ValueType::kTemplates: return format("write {} = [\"…\"]", key.name);
    case ValueType::kChoice: return format("it is one of {}", OneOf(key.choices));
    case ValueType::kInteger: return format("write {} = 1, without quotes", key.name);
    case ValueType::kBoolean: return format("write {} = true or false, without quotes", key.name);
    case ValueType::kDuration: return format("write {} = \"20s\"", key.name);
    case ValueType::kTemplateTable:
      return format("write [{}.{}] and below it KEY = \"…\"", key.section, key.name);
    case ValueType::kPatternTable: return format("write {} = {{ NAME = \"…\" }}", key.name);
    case ValueType::kTable:
      return key.section.empty() ? format("write [{}]", key.name)
                                 : format("write {} = {{ … }}", key.name);
    case ValueType::kTables:
      return format("write [[{}{}{}]]", key.section, key.section.empty() ? "" : ".", key.name);
  }
  return "";
}

/// A key that stands somewhere else, as it is written there.
std::string WhereItBelongs(std::string_view key) {
  std::string hint;
  for (const KeyInfo& other : AllKeys()) {
    if (other.name != key) continue;
    hint = "it belongs to " + SectionTitle(other.section);
    const bool is_section = other.type == ValueType::kTables || other.type == ValueType::kTable ||
                            other.type == ValueType::kTemplateTable;
    if (is_section) hint += ": " + ExampleOf(other);
  }
  return hint;
}

/// What stands in `udev` itself may have been meant for one of its tables.
std::string HintOnUdevKey(std::string_view key, std::span<const std::string_view> known) {
  std::string lower(key);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (std::string near = DidYouMean(lower, known); !near.empty()) return near;
  if (lower != key && key.find_first_of("abcdefghijklmnopqrstuvwxyz") == std::string_view::npos) {
    return format("a udev property is written properties = {{ {} = \"…\" }}", key);
  }
  const std::string elsewhere = WhereItBelongs(key);
  return format("{}{}a sysfs attribute is written attributes = {{ {} = \"…\" }}", elsewhere,
                elsewhere.empty() ? "" : "; ", key);
}

std::string HintOnUnknown(std::string_view key, std::string_view section,
                          std::span<const std::string_view> known) {
  if (section == UdevDraft::kSection) return HintOnUdevKey(key, known);
  std::string hint = WhereItBelongs(key);
  if (!hint.empty()) return hint;
  return DidYouMean(key, known,
                    known.size() > 8 ? "" : format("the keys here are {}", OneOf(known)));
}

/// Binds a value of the TOML type T, or reports its type.
template <class T>
const T* Get(const KeyInfo& key, const TomlValue& value, Reporter& reporter) {
  const T* found = std::get_if<T>(&value.value);
  if (found == nullptr) ReportWrongType(key, value, reporter);
  return found;
}

bool InRange(const KeyInfo& key, std::int64_t value, const Place& place, Reporter& reporter) {
  if (value >= key.range.least && value <= key.range.most) return true;
  const auto shown = [&](std::int64_t n) {
    return key.type == ValueType::kDuration ? FormatDuration(std::chrono::milliseconds(n))
                                            : std::to_string(n);
  };
  reporter.Report(Code::kOutOfRange, place,
                  format("{} for \"{}\" is too {}", shown(value), key.name,
                         value < key.range.least ? "little" : "much"),
                  key.range.most == Range().most
                      ? format("it is at least {}", shown(key.range.least))
                      : format("it is {} to {}", shown(key.range.least), shown(key.range.most)));
  return false;
}

}  // namespace

void ReportWrongType(const KeyInfo& key, const TomlValue& value, Reporter& reporter) {
  reporter.Report(Code::kWrongType, value.place,
                  format("\"{}\" takes a {}, not {}", key.name, Name(key.type), KindOf(value)),
                  ExampleOf(key));
}

void ReportUnknownKey(const Text& key, std::string_view section,
                      std::span<const std::string_view> known, Reporter& reporter) {
  reporter.Report(Code::kUnknownKey, key.place,
                  format("{} has no key \"{}\"", SectionTitle(section), key.value.substr(0, 100)),
                  key.value.size() > 100 ? "" : HintOnUnknown(key.value, section, known));
}

void ReportMissingKey(const KeyInfo& key, const Place& place, Reporter& reporter) {
  reporter.Report(Code::kMissingKey, place,
                  format("{} has no \"{}\"", SectionTitle(key.section), key.name),
                  format("{}: {}", ExampleOf(key), key.meaning));
}

void ReportDuplicateSection(const KeyInfo& key, const Place& place, const Place& first,
                            Reporter& reporter) {
  reporter.Report(Code::kDuplicateSection, place,
                  format("{} is already at {}", SectionTitle(key.name), Where(first)),
                  "all files are one document: keep this section in one of them");
}

bool Bind(const KeyInfo& key, const TomlValue& value, Text& out, Reporter& reporter) {
  const auto* text = Get<Text>(key, value, reporter);
  if (text != nullptr) out = *text;
  return text != nullptr;
}

bool Bind(const KeyInfo& key, const TomlValue& value, Choice& out, Reporter& reporter) {
  const auto* text = Get<Text>(key, value, reporter);
  if (text == nullptr) return false;
  const auto found = std::find(key.choices.begin(), key.choices.end(), text->value);
  if (found == key.choices.end()) {
    const std::string all = format("it is one of {}", OneOf(key.choices));
    const std::string word = text->value.substr(0, 100);
    reporter.Report(Code::kUnknownValue, value.place,
                    format("\"{}\" cannot be \"{}\"", key.name, word),
                    DidYouMean(word, key.choices, all));
    return false;
  }
  out = {static_cast<std::size_t>(found - key.choices.begin()), value.place};
  return true;
}

bool Bind(const KeyInfo& key, const TomlValue& value, TextList& out, Reporter& reporter) {
  const auto* array = Get<TomlArray>(key, value, reporter);
  if (array == nullptr) return false;
  out.place = value.place;
  bool all = true;
  for (const TomlValue& item : array->items) {
    if (const auto* text = Get<Text>(key, item, reporter)) {
      out.items.push_back(*text);
    } else {
      all = false;
    }
  }
  return all;
}

bool Bind(const KeyInfo& key, const TomlValue& value, OneOrMore& out, Reporter& reporter) {
  if (const auto* text = std::get_if<Text>(&value.value)) {
    out.place = value.place;
    out.items.push_back(*text);
    return true;
  }
  return Bind(key, value, static_cast<TextList&>(out), reporter);
}

bool Bind(const KeyInfo& key, const TomlValue& value, TemplatePairs& out, Reporter& reporter) {
  const auto* table = Get<TomlTable>(key, value, reporter);
  if (table == nullptr) return false;
  out.place = value.place;
  bool all = true;
  for (const TomlEntry& entry : table->entries) {
    if (const auto* text = std::get_if<Text>(&entry.value.value)) {
      out.items.emplace_back(entry.key, *text);
    } else {
      const std::string path = format("{}.{}", key.name, entry.key.value.substr(0, 100));
      ReportWrongType({.section = key.section, .name = path}, entry.value, reporter);
      all = false;
    }
  }
  return all;
}

bool Bind(const KeyInfo& key, const TomlValue& value, Spanned<bool>& out, Reporter& reporter) {
  const auto* boolean = Get<bool>(key, value, reporter);
  if (boolean != nullptr) out = {*boolean, value.place};
  return boolean != nullptr;
}

bool Bind(const KeyInfo& key, const TomlValue& value, Spanned<std::int64_t>& out,
          Reporter& reporter) {
  const auto* integer = Get<std::int64_t>(key, value, reporter);
  if (integer == nullptr || !InRange(key, *integer, value.place, reporter)) return false;
  out = {*integer, value.place};
  return true;
}

bool Bind(const KeyInfo& key, const TomlValue& value, Spanned<std::chrono::milliseconds>& out,
          Reporter& reporter) {
  const auto* text = Get<Text>(key, value, reporter);
  if (text == nullptr) return false;
  const auto duration = ParseDuration(text->value);
  if (!duration) {
    reporter.Report(Code::kBadDuration, value.place,
                    format("\"{}\" is not a duration", text->value.substr(0, 100)),
                    "write a whole number and a unit, ms, s, m or h: \"250ms\", \"30s\", \"5m\"");
    return false;
  }
  if (!InRange(key, duration->count(), value.place, reporter)) return false;
  out = {*duration, value.place};
  return true;
}

}  // namespace patchbay
