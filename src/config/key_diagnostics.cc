// Messages and hints are generated from KeyInfo. The hint on a wrong type contains the user's own
// value in the right type if its meaning is clear, otherwise an example. The hint on an unknown key
// is the first that applies of: the replacement for a key of another device plugin, a section with
// a similar name if the value is a table, the nearest section that has the key, the replacement in
// another section, a key with a similar name, and the list of keys. For `udev` there are separate
// hints. Text from the file is shortened to 100 bytes.

#include "config/key_diagnostics.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "base/ascii.h"
#include "base/format.h"
#include "base/number.h"
#include "config/duration.h"
#include "config/toml_text.h"
#include "model/attribute.h"

namespace patchbay {
namespace {

constexpr std::string_view kMatch = "resource.match";
constexpr std::string_view kNot = "resource.match.not";
constexpr std::string_view kUdev = "resource.match.udev";

/// Returns the type of a value in words.
std::string_view KindOf(const TomlValue& value) {
  if (const auto* other = std::get_if<TomlOther>(&value.value)) return other->kind;
  constexpr std::string_view kKinds[] = {"",       "a string", "an integer", "a boolean",
                                         "a list", "a table"};  // in the order of TomlValue::value
  return kKinds[value.value.index()];
}

/// Returns whether the default of a string is a path or an address, and so shows its form.
bool HasForm(const KeyInfo& key) {
  return key.default_value.find_first_of(":/") != std::string_view::npos;
}

/// Returns a hint that shows how to write a value of the key's type.
std::string ExampleOf(const KeyInfo& key) {
  switch (key.type) {
    case ValueType::kString:
    case ValueType::kTemplate:
      if (!HasForm(key)) return Format("write {} = \"…\"", key.name);
      [[fallthrough]];
    case ValueType::kDuration: return Format("as in {} = {}", key.name, key.default_value);
    case ValueType::kStringOrStrings: return Format("write {0} = \"…\" or {0} = [\"…\"]", key.name);
    case ValueType::kStrings:
    case ValueType::kTemplates: return Format("write {} = [\"…\"]", key.name);
    case ValueType::kChoice: return Format("must be one of {}", OneOf(key.choices));
    case ValueType::kInteger:
      return Format("write {} = N, from {} to {}", key.name, key.range.min, key.range.max);
    case ValueType::kBoolean: return Format("write {} = true or false", key.name);
    case ValueType::kTemplateTable:
    case ValueType::kAttributeTable:
    case ValueType::kCapacityTable:
      return Format("write {} and below it KEY = \"…\"", SectionTitle(key));
    case ValueType::kPatternTable: return Format("write {} = {{ NAME = \"…\" }}", key.name);
    case ValueType::kTable:
    case ValueType::kTables:
      return Format("write {} or {} = {}", SectionTitle(key), key.name,
                    key.type == ValueType::kTable ? "{ … }" : "[{ … }]");
  }
  return "";
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
    case ValueType::kTemplate:
      return number == nullptr || HasForm(key) ? "" : quoted(std::to_string(*number));
    case ValueType::kStrings:
    case ValueType::kTemplates: {
      // One with spaces can be a command line.
      const bool is_item = text != nullptr && text->value.size() <= 100 &&
                           text->value.find(' ') == std::string::npos;
      return is_item ? TomlList({text->value}) : "";
    }
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

bool IsSection(ValueType type) {
  return type == ValueType::kTables || type == ValueType::kTable ||
         type == ValueType::kTemplateTable || type == ValueType::kAttributeTable ||
         type == ValueType::kCapacityTable;
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

/// Returns the names of the keys, or only of those that are sections themselves.
std::vector<std::string_view> NamesOf(std::span<const KeyInfo> keys, bool only_sections = false) {
  std::vector<std::string_view> names;
  for (const KeyInfo& key : keys) {
    if (!only_sections || IsSection(key.type)) names.push_back(key.name);
  }
  return names;
}

/// Returns the number of steps from one section to another in the tree of sections.
std::ptrdiff_t Distance(std::string_view from, std::string_view to) {
  if (from == kUdev && to == kNot) return 1;  // which has a udev too
  const std::string a = Format("{}.", from), b = Format("{}.", to);
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return std::ranges::count(a, '.') + std::ranges::count(b, '.') -
         2 * std::count(a.begin(), end, '.');
}

/// Returns the keys of this name in the sections that are nearest to `section`.
std::vector<const KeyInfo*> NearestKeys(std::string_view name, std::string_view section) {
  std::vector<const KeyInfo*> nearest;
  std::ptrdiff_t least = std::numeric_limits<std::ptrdiff_t>::max();
  for (const KeyInfo& key : AllKeys()) {
    if (key.name != name) continue;
    const auto distance = Distance(section, key.section);
    if (distance < least) nearest.clear();
    if (distance <= least) nearest.push_back(&key);
    least = std::min(least, distance);
  }
  return nearest;
}

/// Returns the titles of the sections of keys: "[[resource.match]] or [resource.health]".
std::string TitlesOf(const std::vector<const KeyInfo*>& keys) {
  std::string titles;
  for (const KeyInfo* key : keys) {
    titles += (titles.empty() ? "" : " or ") + SectionTitle(key->section);
  }
  return titles;
}

/// Returns a hint that a key belongs to another section, or "" if no section has it.
std::string WhereItBelongs(std::string_view name, std::string_view section) {
  const auto keys = NearestKeys(name, section);
  if (keys.empty()) return "";
  const std::string hint = "it belongs to " + TitlesOf(keys);
  return IsSection(keys.front()->type) ? Format("{}: {}", hint, ExampleOf(*keys.front())) : hint;
}

/// Returns the hint on an unknown key in `udev`, which may belong to one of its tables.
std::string HintOnUdevKey(std::string_view key, std::span<const KeyInfo> keys) {
  if (std::string near = DidYouMean(ToLower(key), NamesOf(keys)); !near.empty()) return near;
  if (ToLower(key) != key &&
      key.find_first_of("abcdefghijklmnopqrstuvwxyz") == std::string_view::npos) {
    return Format("a udev property is written properties = {{ {} = \"…\" }}", key);
  }
  std::string elsewhere = WhereItBelongs(key, kUdev);
  if (IsMisplaced(*FindKey(keys, "attributes"), key)) return elsewhere;
  return Format("{}{}a sysfs attribute is written attributes = {{ {} = \"…\" }}", elsewhere,
                elsewhere.empty() ? "" : "; ", key);
}

/// Keys of other device plugins, or plausible names for a key, and their hint. `sections` and
/// `names` are lists of Words. A row for a section above another one comes before it, because the
/// first row applies if the key is in a section above the first one.
struct ForeignKeys {
  std::string_view sections, names, hint;
};
constexpr std::string_view kMatchAndNot = "resource.match resource.match.not";
constexpr std::string_view kByNode =
    "write [[resource.device_node]] and below it container_path = \"/dev/…\"";
constexpr ForeignKeys kForeignKeys[] = {
    {"daemon", "interval", "write rescan = \"60s\""},
    {"daemon", "port", "write listen = \"[::]:9478\""},
    {"daemon", "path", "write host_root, kubelet_dir or cdi_dir = \"/…\""},
    {"resource", "mountPath", kByNode},
    {"resource", "node",
     "write on_nodes = [\"rack-*\"] for nodes of the cluster, or [[resource.device_node]] for the "
     "device nodes of containers"},
    {"resource", "device devices paths glob groups",
     "write [[resource.match]] and below it path = \"/dev/…\""},
    {"resource", "count nummaxdevices shared",
     "write replicas = 10, the number of containers that can have a device at the same time; "
     "devices without nodes are `count` in [[resource.match]]"},
    {"resource", "limit",
     "write max_per_container = 1, or max_devices in the match to list no more devices than that"},
    {"resource", "nodes node_name node_names node_selector nodeName nodeNames nodeSelector",
     "write on_nodes = [\"rack-*\"], with names of nodes; labels belong to the DaemonSet"},
    {"resource.device_node resource.mount", "path source src", "write host_path = \"/…\""},
    {"resource.device_node resource.mount", "target destination dst mountPath",
     "write container_path = \"/…\""},
    {"resource.health", "interval", "write period = \"30s\""},
    {"resource.health", "path", "write file = \"/…\""},
    {"resource.health", "regex", "write matches = '…'"},
    {"resource.hooks resource.hooks.pre_start resource.hooks.allocate resource.hooks.release",
     "path",
     "write command = [\"/usr/local/bin/card-reset\", \"{path}\"] below the header of a hook, as "
     "in "
     "[resource.hooks.pre_start]"},
    {kMatchAndNot,
     "vendor vendor_id idVendor vid usb_vendor pci_vendor product product_id idProduct pid "
     "usb_product pci_device pci_id usb_id",
     "write usb = \"0403:6001\" or pci = \"10ee:5000\", with * for any vendor or product"},
    {kMatchAndNot, "port bus",
     "write usb_port = \"1-2\" and usb = \"*:*\", with the port as in `ls /sys/bus/usb/devices`"},
    {kMatchAndNot, "address slot", "write pci_address = \"0000:3b:00.0\" and pci = \"*:*\""},
    {kMatchAndNot, "usb_serial", "write serial = \"…\" and usb = \"*:*\""},
    {kMatch, "driver", "write udev = { driver = \"…\" }"},
    {kMatch, "subsystem", "write udev = { subsystem = \"…\" }"},
    {kMatch, "limit", "write max_devices = 1"},
    {kMatch, "path_exclude", "write exclude = \"/dev/…\""},
    {kMatch, "mountPath", kByNode},
    {kMatch, "glob device devices paths node", "write path = \"/dev/…\""},
    {kNot, "driver", "write not = { udev = { driver = \"…\" } }"},
    {kNot, "subsystem", "write not = { udev = { subsystem = \"…\" } }"},
    {kNot, "path regex glob device devices paths node",
     "write exclude = \"/dev/…\" in [[resource.match]]"},
    {kNot, "properties", "write not = { udev = { properties = { NAME = \"…\" } } }"},
    {kNot, "attributes", "write not = { udev = { attributes = { NAME = \"…\" } } }"},
    {kUdev, "usb_serial", "write serial = \"…\" and usb = \"*:*\" next to udev"},
    {kUdev, "port", "write usb_port = \"1-2\" next to udev"},
    {kUdev, "usb_vendor usb_product usb_id vendor_id product_id vid pid id_vendor id_product",
     "write usb = \"0403:6001\" next to udev, or properties = { ID_VENDOR_ID = \"0403\" }"},
    {kUdev, "id_bus id_model id_model_id id_path id_serial id_serial_short",
     "write the name of a property in upper case: properties = { ID_SERIAL = \"…\" }"},
    {kUdev, "devtype", "write properties = { DEVTYPE = \"…\" }"},
    // Keys of udev rules.
    {kUdev, "ATTR ATTRS", "write attributes = { NAME = \"…\" }"},
    {kUdev, "ENV", "write properties = { NAME = \"…\" }"},
    {kUdev, "KERNEL", "write path = \"/dev/…\" in the match"},
};

bool HasWord(std::string_view words, std::string_view word) {
  return std::ranges::count(Words(words), word) > 0;
}

/// Returns the hint on a foreign key of the section, or "".
std::string_view HintOnForeignKey(std::string_view key, std::string_view section) {
  const auto* found = std::ranges::find_if(kForeignKeys, [&](const ForeignKeys& foreign) {
    return HasWord(foreign.names, key) && HasWord(foreign.sections, section);
  });
  return found == std::end(kForeignKeys) ? "" : found->hint;
}

/// Returns the hint on a foreign key of another section of the same entry, or "".
std::string HintOnForeignKeyElsewhere(std::string_view key, std::string_view section) {
  const std::string_view entry = section.substr(0, section.find('.'));
  for (const ForeignKeys& foreign : kForeignKeys) {
    if (!HasWord(foreign.names, key) || !foreign.sections.starts_with(entry)) continue;
    const std::string_view first = foreign.sections.substr(0, foreign.sections.find(' '));
    return entry == "daemon" ? "" : Format("in {}, {}", SectionTitle(first), foreign.hint);
  }
  return "";
}

std::string HintOnUnknown(const TomlEntry& entry, std::span<const KeyInfo> keys) {
  const std::string_view key = entry.key.value;
  const std::string_view section = keys.front().section;
  if (const auto hint = HintOnForeignKey(key, section); !hint.empty()) return std::string(hint);
  if (section == kUdev) return HintOnUdevKey(key, keys);
  if (IsSection(entry.value)) {
    if (std::string hint = DidYouMean(key, NamesOf(keys, true)); !hint.empty()) return hint;
  }
  if (std::string hint = WhereItBelongs(key, section); !hint.empty()) return hint;
  if (std::string hint = HintOnForeignKeyElsewhere(key, section); !hint.empty()) return hint;
  const std::vector<std::string_view> known = NamesOf(keys);
  return DidYouMean(key, known, known.size() > 15 ? "" : Format("must be one of {}", OneOf(known)));
}

}  // namespace

void ReportWrongType(const KeyInfo& key, const TomlValue& value, Reporter& reporter) {
  reporter.Report(Code::kWrongType, value.place,
                  Format("\"{}\" must be a {}, not {}", key.name, Name(key.type), KindOf(value)),
                  HintOnWrongType(key, value));
}

void ReportWrongItem(const KeyInfo& table, const TomlEntry& entry, Reporter& reporter) {
  const std::string name = entry.key.value.substr(0, 100);
  const std::string key = TomlKey(name);
  const bool is_list = std::holds_alternative<TomlArray>(entry.value.value);
  if (is_list && table.type == ValueType::kPatternTable) {  // which can have lists, but not empty
    const KeyInfo patterns{.name = key, .type = ValueType::kStringOrStrings};
    reporter.Report(
        Code::kBadValue, entry.value.place, Format("\"{}.{}\" must not be empty", table.name, name),
        Format("in the table {}, {}, or remove the key", table.name, ExampleOf(patterns)));
    return;
  }
  const bool is_attribute = table.type == ValueType::kAttributeTable;
  const bool is_capacity = table.type == ValueType::kCapacityTable;
  const bool has_dots = table.name == "annotations" && IsSection(entry.value);
  const std::string wanted =
      is_attribute  ? Format(", or a table with one of the keys {}, whose value is a string",
                             OneOf(kAttributeTypeNames))
      : is_capacity ? ", or a table of strings with \"value\", and \"default\", \"max\" and "
                      "\"step\" as needed"
                    : Format(", not {}", KindOf(entry.value));
  reporter.Report(
      Code::kWrongType, entry.value.place,
      Format("\"{}.{}\" must be a string{}", table.name, name, wanted),
      is_attribute ? Format("as in {0} = \"{{id}}\", or {0} = {{ int = \"{{numa_node}}\" }}", key)
      : is_capacity
          ? Format("as in {0} = \"16Gi\", or {0} = {{ value = \"16Gi\", step = \"1Gi\" }}", key)
      : has_dots
          ? Format("put a name with dots in quotes: \"{}.…\" = \"…\"", name)
          : Format("in the table {}, {}", table.name, HintOnWrongType({.name = key}, entry.value)));
}

void ReportMisplaced(const KeyInfo& table, const Text& name, Reporter& reporter) {
  const auto keys = NearestKeys(name.value, table.section);
  const std::string sections = TitlesOf(keys);
  const std::string title = SectionTitle(table);
  const bool has_upper_case = table.name == "env" || table.name == "properties";
  const bool has_domains = table.section == "resource" && !has_upper_case;
  reporter.Report(
      Code::kUnknownKey, name.place,
      Format("\"{}\" in {} is a key of {}", name.value, title, sections),
      Format("it belongs to {}; move it {}{}", sections,
             keys.front()->section == table.section ? "above the table " + title : "there",
             has_upper_case && name.value != "path"  // PATH is reserved
                 ? ", or write the name in upper case"
                 : has_domains ? Format(", or write \"example.com/{}\"", name.value) : ""));
}

void ReportUnknownKey(const KeyInfo& table, const TomlEntry& entry, Reporter& reporter) {
  const Text& key = entry.key;
  reporter.Report(Code::kUnknownKey, key.place,
                  Format("{} has no key \"{}\"", SectionTitle(table), key.value.substr(0, 100)),
                  key.value.size() > 100 ? "" : HintOnUnknown(entry, KeysOf(table.table)));
}

void ReportMissingKey(const KeyInfo& key, const SourceLocation& place, Reporter& reporter) {
  reporter.Report(Code::kMissingKey, place,
                  Format("{} has no \"{}\"", SectionTitle(key.section), key.name),
                  Format("{}: {}", ExampleOf(key), key.meaning));
}

void ReportEmpty(const KeyInfo& key, const SourceLocation& place, Reporter& reporter) {
  reporter.Report(Code::kBadValue, place, Format("\"{}\" must not be empty", key.name),
                  ExampleOf(key) + (key.required ? "" : ", or remove the key"));
}

void ReportDuplicateSection(const KeyInfo& key, const SourceLocation& place,
                            const SourceLocation& first, Reporter& reporter) {
  reporter.Report(Code::kDuplicate, place,
                  Format("{} is already defined at {}", SectionTitle(key), Where(first)),
                  "all files form one document: keep this section in one of them");
}

void ReportOutOfRange(const KeyInfo& key, std::int64_t value, const SourceLocation& place,
                      Reporter& reporter) {
  reporter.Report(
      Code::kOutOfRange, place,
      Format("{} for \"{}\" is too {}", NumberText(key, value), key.name,
             value < key.range.min ? "small" : "large"),
      Format("must be {} to {}", NumberText(key, key.range.min), NumberText(key, key.range.max)));
}

}  // namespace patchbay
