#include "config/decode.h"

#include <algorithm>

#include "base/format.h"
#include "config/duration.h"

namespace patchbay {
namespace {

/// Returns a value of the TOML type T, or reports that it has another type.
template <class T>
const T* Get(const KeyInfo& key, const TomlValue& value, Reporter& reporter) {
  const T* found = std::get_if<T>(&value.value);
  if (found == nullptr) ReportWrongType(key, value, reporter);
  return found;
}

bool InRange(const KeyInfo& key, std::int64_t value, const SourceLocation& place,
             Reporter& reporter) {
  if (key.range.Holds(value)) return true;
  ReportOutOfRange(key, value, place, reporter);
  return false;
}

/// Returns an attribute: a text, or a table with one key, which is the type of its text.
std::optional<AttributePair> DecodeAttribute(const TomlEntry& entry) {
  if (const auto* text = std::get_if<Text>(&entry.value.value)) {
    return AttributePair{entry.key, AttributeType::kString, *text};
  }
  const auto* typed = std::get_if<TomlTable>(&entry.value.value);
  if (typed == nullptr || typed->entries.size() != 1) return std::nullopt;
  const TomlEntry& only = typed->entries.front();
  const auto* text = std::get_if<Text>(&only.value.value);
  const auto type = std::ranges::find(kAttributeTypeNames, only.key.value);
  if (text == nullptr || type == std::end(kAttributeTypeNames)) return std::nullopt;
  return AttributePair{entry.key,
                       static_cast<AttributeType>(type - std::begin(kAttributeTypeNames)), *text};
}

}  // namespace

bool Decode(const KeyInfo& key, const TomlValue& value, Text& out, Reporter& reporter) {
  const auto* text = Get<Text>(key, value, reporter);
  if (text != nullptr) out = *text;
  return text != nullptr;
}

bool Decode(const KeyInfo& key, const TomlValue& value, Choice& out, Reporter& reporter) {
  const auto* text = Get<Text>(key, value, reporter);
  if (text == nullptr) return false;
  const auto found = std::find(key.choices.begin(), key.choices.end(), text->value);
  if (found == key.choices.end()) {
    const std::string all = Format("must be one of {}", OneOf(key.choices));
    const std::string word = text->value.substr(0, 100);
    reporter.Report(Code::kUnknownValue, value.place,
                    Format("\"{}\" cannot be \"{}\"", key.name, word),
                    DidYouMean(word, key.choices, all));
    return false;
  }
  out = {static_cast<std::size_t>(found - key.choices.begin()), value.place};
  return true;
}

bool Decode(const KeyInfo& key, const TomlValue& value, TextList& out, Reporter& reporter) {
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

bool Decode(const KeyInfo& key, const TomlValue& value, OneOrMore& out, Reporter& reporter) {
  if (const auto* text = std::get_if<Text>(&value.value)) {
    out.place = value.place;
    out.items.push_back(*text);
    return true;
  }
  return Decode(key, value, static_cast<TextList&>(out), reporter);
}

bool Decode(const KeyInfo& key, const TomlValue& value, TemplatePairs& out, Reporter& reporter) {
  const auto* table = Get<TomlTable>(key, value, reporter);
  if (table == nullptr) return false;
  out.place = value.place;
  bool all = true;
  for (const TomlEntry& entry : table->entries) {
    if (ReportKeyOfResource(key, entry, reporter)) {
      all = false;
    } else if (const auto* text = std::get_if<Text>(&entry.value.value)) {
      out.items.emplace_back(entry.key, *text);
    } else {
      ReportWrongPair(key, entry, reporter);
      all = false;
    }
  }
  return all;
}

bool Decode(const KeyInfo& key, const TomlValue& value, AttributePairs& out, Reporter& reporter) {
  const auto* table = Get<TomlTable>(key, value, reporter);
  if (table == nullptr) return false;
  out.place = value.place;
  bool all = true;
  for (const TomlEntry& entry : table->entries) {
    if (ReportKeyOfResource(key, entry, reporter)) {
      all = false;
    } else if (auto pair = DecodeAttribute(entry)) {
      out.items.push_back(std::move(*pair));
    } else {
      ReportWrongAttribute(key, entry, reporter);
      all = false;
    }
  }
  return all;
}

bool Decode(const KeyInfo& key, const TomlValue& value, std::string& out, Reporter& reporter) {
  const auto* text = Get<Text>(key, value, reporter);
  if (text != nullptr) out = text->value;
  return text != nullptr;
}

bool Decode(const KeyInfo& key, const TomlValue& value, bool& out, Reporter& reporter) {
  const auto* boolean = Get<bool>(key, value, reporter);
  if (boolean != nullptr) out = *boolean;
  return boolean != nullptr;
}

bool Decode(const KeyInfo& key, const TomlValue& value, int& out, Reporter& reporter) {
  const auto* integer = Get<std::int64_t>(key, value, reporter);
  if (integer == nullptr || !InRange(key, *integer, value.place, reporter)) return false;
  out = static_cast<int>(*integer);
  return true;
}

bool Decode(const KeyInfo& key, const TomlValue& value, std::chrono::milliseconds& out,
            Reporter& reporter) {
  const auto* text = Get<Text>(key, value, reporter);
  if (text == nullptr) return false;
  const auto duration = ParseDuration(text->value);
  if (!duration) {
    reporter.Report(Code::kBadDuration, value.place,
                    Format("\"{}\" is not a valid duration", text->value.substr(0, 100)),
                    "use a whole number and a unit, ms, s, m or h: \"250ms\", \"30s\", \"5m\"");
    return false;
  }
  if (!InRange(key, duration->count(), value.place, reporter)) return false;
  out = *duration;
  return true;
}

}  // namespace patchbay
