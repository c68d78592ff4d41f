// Messages and hints are generated from KeyInfo. The hint on a wrong type contains the user's own
// value in the right type if its meaning is clear, otherwise an example. The hint on an unknown key
// is the first that applies of: the replacement for a key of another device plugin, a section with
// a similar name if the value is a table, the section to which the key belongs, a key with a
// similar name, and the list of keys. For `udev` there are separate hints. Text from the file is
// shortened to 100 bytes.

#include "config/key_diagnostics.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/number.h"
#include "config/duration.h"

namespace patchbay {
namespace {

/// Returns the type of a value in words.
std::string_view KindOf(const TomlValue& value) {
  struct Visitor {
    std::string_view operator()(const TomlOther& other) const { return other.kind; }
    std::string_view operator()(const Text&) const { return "a string"; }
    std::string_view operator()(std::int64_t) const { return "an integer"; }
    std::string_view operator()(bool) const { return "a boolean"; }
    std::string_view operator()(const TomlArray&) const { return "a list"; }
    std::string_view operator()(const TomlTable&) const { return "a table"; }
  };
  return std::visit(Visitor(), value.value);
}

/// Returns a hint that shows how to write a value of the key's type.
std::string ExampleOf(const KeyInfo& key) {
  switch (key.type) {
    case ValueType::kString:
    case ValueType::kTemplate: return Format("write {} = \"…\"", key.name);
    case ValueType::kStringOrStrings: return Format("write {0} = \"…\" or {0} = [\"…\"]", key.name);
    case ValueType::kStrings:
    case ValueType::kTemplates: return Format("write {} = [\"…\"]", key.name);
    case ValueType::kChoice: return Format("must be one of {}", OneOf(key.choices));
    case ValueType::kInteger:
      // A default of 0 has the same effect as omitting the key, so it is not a good example.
      return Format("write {} = {}", key.name,
                    key.default_value.empty() || key.default_value == "0"
                        ? std::to_string(std::max<std::int64_t>(key.range.min, 1))
                        : key.default_value);
    case ValueType::kBoolean: return Format("write {} = true or false", key.name);
    case ValueType::kDuration: return Format("write {} = {}", key.name, key.default_value);
    case ValueType::kTemplateTable:
    case ValueType::kAttributeTable:
      return Format("write [{}.{}] and below it KEY = \"…\"", key.section, key.name);
    case ValueType::kPatternTable: return Format("write {} = {{ NAME = \"…\" }}", key.name);
    case ValueType::kTable:
      return key.section.empty()
                 ? Format("write [{}]", key.name)
                 : Format("write [{0}.{1}] or {1} = {{ … }}", key.section, key.name);
    case ValueType::kTables:
      return key.section.empty()
                 ? Format("write [[{}]]", key.name)
                 : Format("write [[{0}.{1}]] or {1} = [{{ … }}]", key.section, key.name);
  }
  return "";
}

/// Returns whether the text can be quoted without escape sequences and is not a shell command line.
bool IsPlainWord(const std::string& text) {
  return text.size() <= 100 && IsPrintable(text) &&
         text.find_first_of(" \"\\") == std::string::npos;
}

/// Returns the duration for a number without a unit: in seconds, or in milliseconds if that is out
/// of range, or "" if both are.
std::string WithUnit(const KeyInfo& key, std::int64_t number) {
  for (const std::string_view unit : {"s", "ms"}) {
    std::string text = Format("{}{}", number, unit);
    const auto duration = ParseDuration(text);
    if (duration && key.range.Holds(duration->count())) return text;
  }
  return "";
}

/// Returns the value converted to the type of the key, in TOML, or "" if its meaning is not clear.
std::string Converted(const KeyInfo& key, const TomlValue& value) {
  const auto* text = std::get_if<Text>(&value.value);
  const auto* number = std::get_if<std::int64_t>(&value.value);
  const auto quoted = [](const std::string& s) { return s.empty() ? s : Format("\"{}\"", s); };
  switch (key.type) {
    case ValueType::kInteger: {
      const auto meant = text == nullptr ? std::nullopt : ParseNumber<std::int64_t>(text->value);
      return meant && key.range.Holds(*meant) ? std::to_string(*meant) : "";
    }
    case ValueType::kBoolean:
      return text != nullptr && (text->value == "true" || text->value == "false") ? text->value
                                                                                  : "";
    case ValueType::kDuration: return number == nullptr ? "" : quoted(WithUnit(key, *number));
    case ValueType::kString:
    case ValueType::kTemplate: return number == nullptr ? "" : quoted(std::to_string(*number));
    case ValueType::kStrings:
    case ValueType::kTemplates:
      return text != nullptr && IsPlainWord(text->value) ? Format("[\"{}\"]", text->value) : "";
    default: return "";
  }
}

std::string HintOnWrongType(const KeyInfo& key, const TomlValue& value) {
  const std::string converted = Converted(key, value);
  const std::string hint =
      converted.empty() ? ExampleOf(key) : Format("write {} = {}", key.name, converted);
  const bool bare = key.type == ValueType::kInteger || key.type == ValueType::kBoolean;
  return hint + (bare && std::holds_alternative<Text>(value.value) ? ", without quotes" : "");
}

/// Returns a key in TOML, or "" for a key that is unlikely to be intended.
std::string KeyText(const std::string& key) {
  const bool is_bare = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return IsAlnum(c) || c == '_' || c == '-';
  });
  if (is_bare) return key;
  return IsPlainWord(key) ? Format("\"{}\"", key) : "";
}

bool IsSection(ValueType type) {
  return type == ValueType::kTables || type == ValueType::kTable ||
         type == ValueType::kTemplateTable || type == ValueType::kAttributeTable;
}

/// Returns whether the value is written as [x] or [[x]], or could be.
bool IsSection(const TomlValue& value) {
  const auto is_table = [](const TomlValue& v) {
    return std::holds_alternative<TomlTable>(v.value);
  };
  const auto* array = std::get_if<TomlArray>(&value.value);
  return is_table(value) || (array != nullptr && !array->items.empty() &&
                             std::all_of(array->items.begin(), array->items.end(), is_table));
}

/// Returns the keys of a section that are sections themselves.
std::vector<std::string_view> SectionsOf(std::string_view section) {
  std::vector<std::string_view> names;
  for (const KeyInfo& key : AllKeys()) {
    if (key.section == section && IsSection(key.type)) names.push_back(key.name);
  }
  return names;
}

/// Returns a hint that a key belongs to another section, or "" if no section has it.
std::string WhereItBelongs(std::string_view key) {
  for (const KeyInfo& other : AllKeys()) {
    if (other.name != key) continue;
    const std::string hint = "it belongs to " + SectionTitle(other.section);
    return IsSection(other.type) ? Format("{}: {}", hint, ExampleOf(other)) : hint;
  }
  return "";
}

/// Returns the hint on an unknown key in `udev`, which may belong to one of its tables.
std::string HintOnUdevKey(std::string_view key, std::span<const std::string_view> known) {
  if (std::string near = DidYouMean(ToLower(key), known); !near.empty()) return near;
  if (ToLower(key) != key &&
      key.find_first_of("abcdefghijklmnopqrstuvwxyz") == std::string_view::npos) {
    return Format("a udev property is written properties = {{ {} = \"…\" }}", key);
  }
  const std::string elsewhere = WhereItBelongs(key);
  return Format("{}{}a sysfs attribute is written attributes = {{ {} = \"…\" }}", elsewhere,
                elsewhere.empty() ? "" : "; ", key);
}

/// The values that a hint can repeat.
enum class Repeats { kNothing, kHexNumber, kCount, kPath };

/// A key of another device plugin, or a plausible name for a key, and its hint. The value of the
/// user, or else the example, replaces "{}" in the hint.
struct ForeignKey {
  std::string_view section, key, hint;
  Repeats repeats = Repeats::kNothing;
  std::string_view example = "";
};
constexpr std::string_view kByNumbers = "write usb = \"0403:6001\" or pci = \"10ee:5000\"";
constexpr std::string_view kByVendor =
    "write usb = \"{}:*\", with the product after the colon; pci has the same form";
constexpr std::string_view kByProduct =
    "write usb = \"*:{}\", with the vendor before the colon; pci has the same form";
constexpr std::string_view kByNode =
    "write [[resource.device_node]] and below it container_path = \"{}\"";
constexpr std::string_view kByReplicas =
    "write replicas = {}, the number of containers that can have a device at the same time; "
    "devices without nodes are `count` in [[resource.match]]";
constexpr std::string_view kByLimits =
    "write max_per_container = {}, or max_devices in the match to list no more devices than that";
constexpr std::string_view kByPort =
    "write usb_port = \"1-2\" and usb = \"*:*\", with the port as in `ls /sys/bus/usb/devices`";
constexpr std::string_view kByAddress = "write pci_address = \"0000:3b:00.0\" and pci = \"*:*\"";
constexpr std::string_view kByAttribute = "write attributes = { NAME = \"…\" }";
constexpr std::string_view kByPath = "write path = \"/dev/…\"";
constexpr std::string_view kInMatch = "write [[resource.match]] and below it path = \"/dev/…\"";
constexpr ForeignKey kForeignKeys[] = {
    {MatchDraft::kSection, "vendor", kByVendor, Repeats::kHexNumber, "0403"},
    {MatchDraft::kSection, "vendor_id", kByVendor, Repeats::kHexNumber, "0403"},
    {MatchDraft::kSection, "idVendor", kByVendor, Repeats::kHexNumber, "0403"},
    {MatchDraft::kSection, "vid", kByVendor, Repeats::kHexNumber, "0403"},
    {MatchDraft::kSection, "product", kByProduct, Repeats::kHexNumber, "6001"},
    {MatchDraft::kSection, "product_id", kByProduct, Repeats::kHexNumber, "6001"},
    {MatchDraft::kSection, "idProduct", kByProduct, Repeats::kHexNumber, "6001"},
    {MatchDraft::kSection, "pid", kByProduct, Repeats::kHexNumber, "6001"},
    {MatchDraft::kSection, "port", kByPort},
    {MatchDraft::kSection, "bus", kByPort},
    {MatchDraft::kSection, "address", kByAddress},
    {MatchDraft::kSection, "slot", kByAddress},
    {MatchDraft::kSection, "pci_id", kByNumbers},
    {MatchDraft::kSection, "usb_id", kByNumbers},
    {MatchDraft::kSection, "limit", "write max_devices = {}", Repeats::kCount, "1"},
    {MatchDraft::kSection, "mountPath", kByNode, Repeats::kPath, "/dev/…"},
    {ResourceDraft::kSection, "mountPath", kByNode, Repeats::kPath, "/dev/…"},
    {ResourceDraft::kSection, "count", kByReplicas, Repeats::kCount, "10"},
    {ResourceDraft::kSection, "nummaxdevices", kByReplicas, Repeats::kCount, "10"},
    {ResourceDraft::kSection, "limit", kByLimits, Repeats::kCount, "1"},
    {MatchDraft::kSection, "glob", kByPath},
    {MatchDraft::kSection, "device", kByPath},
    {MatchDraft::kSection, "devices", kByPath},
    {MatchDraft::kSection, "paths", kByPath},
    {MatchDraft::kSection, "node", kByPath},
    // Keys of udev rules.
    {UdevDraft::kSection, "ATTR", kByAttribute},
    {UdevDraft::kSection, "ATTRS", kByAttribute},
    {UdevDraft::kSection, "ENV", "write properties = { NAME = \"…\" }"},
    {UdevDraft::kSection, "KERNEL", "write path = \"/dev/…\" in the match"},
    {ResourceDraft::kSection, "device", kInMatch},
    {ResourceDraft::kSection, "devices", kInMatch},
    {ResourceDraft::kSection, "paths", kInMatch},
    {ResourceDraft::kSection, "glob", kInMatch},
    {ResourceDraft::kSection, "groups", kInMatch},
};

/// Returns the value of an entry as a hint can repeat it, or "" if it has another form.
std::string RepeatableValue(const TomlValue& value, Repeats repeats) {
  const auto* number = std::get_if<std::int64_t>(&value.value);
  const auto* in_quotes = std::get_if<Text>(&value.value);
  const std::string text = in_quotes == nullptr ? "" : in_quotes->value;
  switch (repeats) {
    case Repeats::kNothing: return "";
    case Repeats::kCount: return number != nullptr && *number > 0 ? Format("{}", *number) : "";
    case Repeats::kHexNumber: {
      // TOML reads 0x1a86 as a number.
      if (number != nullptr && *number > 0 && *number <= 0xffff) return Format("{:04x}", *number);
      const std::string digits = ToLower(text.starts_with("0x") ? text.substr(2) : text);
      const bool is_hex =
          digits.size() == 4 && digits.find_first_not_of("0123456789abcdef") == std::string::npos;
      return is_hex ? digits : "";
    }
    case Repeats::kPath: {
      const bool is_path =
          text.starts_with('/') && text.size() <= 100 &&
          std::all_of(text.begin(), text.end(), [](char c) {
            return IsAlnum(c) || std::string_view("/._-").find(c) != std::string_view::npos;
          });
      return is_path ? text : "";
    }
  }
  return "";
}

std::string HintOnForeign(const ForeignKey& foreign, const TomlValue& value) {
  std::string hint(foreign.hint);
  const auto gap = hint.find("{}");
  if (gap == std::string::npos) return hint;
  const std::string own = RepeatableValue(value, foreign.repeats);
  return hint.replace(gap, 2, own.empty() ? foreign.example : own);
}

std::string HintOnUnknown(const TomlEntry& entry, std::string_view section,
                          std::span<const std::string_view> known) {
  const std::string_view key = entry.key.value;
  for (const ForeignKey& foreign : kForeignKeys) {
    if (foreign.section == section && foreign.key == key) {
      return HintOnForeign(foreign, entry.value);
    }
  }
  if (section == UdevDraft::kSection) return HintOnUdevKey(key, known);
  if (IsSection(entry.value)) {
    if (std::string hint = DidYouMean(key, SectionsOf(section)); !hint.empty()) return hint;
  }
  if (std::string hint = WhereItBelongs(key); !hint.empty()) return hint;
  return DidYouMean(key, known, known.size() > 15 ? "" : Format("must be one of {}", OneOf(known)));
}

}  // namespace

void ReportWrongType(const KeyInfo& key, const TomlValue& value, Reporter& reporter) {
  reporter.Report(Code::kWrongType, value.place,
                  Format("\"{}\" must be a {}, not {}", key.name, Name(key.type), KindOf(value)),
                  HintOnWrongType(key, value));
}

void ReportWrongPair(const KeyInfo& table, const TomlEntry& entry, Reporter& reporter) {
  const std::string& name = entry.key.value;
  const std::string key = name.size() > 100 ? "" : KeyText(name);
  const KeyInfo pair{.name = key.empty() ? "KEY" : std::string_view(key)};
  reporter.Report(Code::kWrongType, entry.value.place,
                  Format("\"{}.{}\" must be a {}, not {}", table.name, name.substr(0, 100),
                         Name(pair.type), KindOf(entry.value)),
                  Format("in the table {}, {}", table.name, HintOnWrongType(pair, entry.value)));
}

bool ReportKeyOfResource(const KeyInfo& table, const TomlEntry& entry, Reporter& reporter) {
  const std::string& name = entry.key.value;
  if (table.section != ResourceDraft::kSection ||
      std::ranges::none_of(AllKeys(), [&](const KeyInfo& key) {
        return key.section == table.section && key.name == name;
      })) {
    return false;
  }
  reporter.Report(Code::kUnknownKey, entry.key.place,
                  Format("\"{}\" in [{}.{}] is a key of {}", name, table.section, table.name,
                         SectionTitle(table.section)),
                  Format("it belongs to {}; move it above the table [{}.{}]{}",
                         SectionTitle(table.section), table.section, table.name,
                         table.name == "env" ? ", or write the variable in upper case" : ""));
  return true;
}

void ReportWrongAttribute(const KeyInfo& table, const TomlEntry& entry, Reporter& reporter) {
  const std::string text = KeyText(entry.key.value.substr(0, 100));
  const std::string name = text.empty() ? "KEY" : text;
  reporter.Report(
      Code::kWrongType, entry.value.place,
      Format("\"{}.{}\" must be a string, or a table with one of the keys {}, whose value is a "
             "string",
             table.name, name, OneOf(kAttributeTypeNames)),
      Format("as in {} = \"{{id}}\", or {} = {{ int = \"{{numa_node}}\" }}", name, name));
}

std::string_view ReportUnknownKey(const TomlEntry& entry, std::string_view section,
                                  std::span<const std::string_view> known, Reporter& reporter) {
  const Text& key = entry.key;
  const bool is_long = key.value.size() > 100;
  const std::string hint = is_long ? "" : HintOnUnknown(entry, section, known);
  reporter.Report(Code::kUnknownKey, key.place,
                  Format("{} has no key \"{}\"", SectionTitle(section), key.value.substr(0, 100)),
                  hint);
  const std::string_view nearest = is_long ? "" : Nearest(key.value, known);
  return !nearest.empty() && hint == DidYouMean(nearest, known) ? nearest : "";
}

void ReportMissingKey(const KeyInfo& key, const SourceLocation& place, Reporter& reporter) {
  reporter.Report(Code::kMissingKey, place,
                  Format("{} has no \"{}\"", SectionTitle(key.section), key.name),
                  Format("{}: {}", ExampleOf(key), key.meaning));
}

void ReportDuplicateSection(const KeyInfo& key, const SourceLocation& place,
                            const SourceLocation& first, Reporter& reporter) {
  reporter.Report(Code::kDuplicateSection, place,
                  Format("{} is already defined at {}", SectionTitle(key.name), Where(first)),
                  "all files form one document: keep this section in one of them");
}

void ReportOutOfRange(const KeyInfo& key, std::int64_t value, const SourceLocation& place,
                      Reporter& reporter) {
  const auto shown = [&](std::int64_t n) {
    return key.type == ValueType::kDuration ? FormatDuration(std::chrono::milliseconds(n))
                                            : std::to_string(n);
  };
  reporter.Report(Code::kOutOfRange, place,
                  Format("{} for \"{}\" is too {}", shown(value), key.name,
                         value < key.range.min ? "small" : "large"),
                  key.range.max == Range().max
                      ? Format("the minimum is {}", shown(key.range.min))
                      : Format("must be {} to {}", shown(key.range.min), shown(key.range.max)));
}

}  // namespace patchbay
