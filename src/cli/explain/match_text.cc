#include "cli/explain/match_text.h"

#include <algorithm>

#include "base/escape.h"
#include "base/format.h"
#include "config/duration.h"

namespace patchbay {
namespace {

/// Quotes a text for TOML, which has the escapes of JSON.
std::string Quoted(std::string_view text) { return QuoteJson(text); }

std::string TextOf(const std::string& text) { return text; }
std::string TextOf(const Glob& glob) { return glob.text(); }
std::string TextOf(const NamePattern& pattern) { return pattern.text(); }

template <class Range>
std::string List(const Range& range) {
  std::string list;
  for (const auto& item : range) list += (list.empty() ? "" : ", ") + Quoted(TextOf(item));
  return "[" + list + "]";
}

/// Returns a single text as a string and several as a list.
template <class Range>
std::string OneOrList(const Range& range) {
  return range.size() == 1 ? Quoted(TextOf(range.front())) : List(range);
}

std::string Number(std::optional<std::uint16_t> number) {
  return number ? format("{:04x}", *number) : "*";
}

std::string Table(const UdevPattern::Values& values) {
  std::string table;
  for (const auto& [name, pattern] : values) {
    table += format("{}{} = {}", table.empty() ? " " : ", ", name, Quoted(pattern.text()));
  }
  return "{" + table + " }";
}

struct SourceText {
  std::string operator()(const PathSource& source) const {
    return "path = " + OneOrList(source.globs);
  }
  std::string operator()(const RegexSource& source) const {
    const std::string& text = source.regex.text();
    return "regex = " + (text.find('\'') == std::string::npos ? "'" + text + "'" : Quoted(text));
  }
  std::string operator()(const CountSource& source) const {
    return format("count = {}", source.count);
  }
  std::string operator()(const CommandSource& source) const {
    const bool usual = source.timeout == CommandSource().timeout;
    return "command = " + List(source.argv) +
           (usual ? "" : ", timeout = " + Quoted(FormatDuration(source.timeout)));
  }
  std::string operator()(const UsbPattern& usb) const {
    const std::string numbers = Number(usb.vendor) + ":" + Number(usb.product);
    return "usb = " + Quoted(numbers) +
           (usb.serial ? ", serial = " + Quoted(usb.serial->text()) : "");
  }
  std::string operator()(const PciPattern& pci) const {
    return "pci = " + Quoted(Number(pci.vendor) + ":" + Number(pci.device));
  }
  std::string operator()(const UdevPattern& udev) const {
    std::string keys;
    const auto add = [&](std::string_view key, const std::string& value) {
      keys += format("{}{} = {}", keys.empty() ? " " : ", ", key, value);
    };
    if (!udev.subsystems.empty()) add("subsystem", OneOrList(udev.subsystems));
    if (!udev.drivers.empty()) add("driver", OneOrList(udev.drivers));
    if (!udev.properties.empty()) add("properties", Table(udev.properties));
    if (!udev.attributes.empty()) add("attributes", Table(udev.attributes));
    return "udev = {" + keys + " }";
  }
};

}  // namespace

std::string MatchText(const MatchSpec& match) {
  std::string text = std::visit(SourceText(), match.source);
  const auto add = [&](const std::string& key) { text += ", " + key; };
  const HardwarePatterns& conditions = match.conditions;
  if (conditions.usb) add(SourceText()(*conditions.usb));
  if (conditions.pci) add(SourceText()(*conditions.pci));
  if (conditions.udev) add(SourceText()(*conditions.udev));
  if (!match.exclude.empty()) add("exclude = " + OneOrList(match.exclude));
  if (!match.group_by.empty()) add("group_by = " + Quoted(match.group_by));
  if (!match.require.empty()) add("require = " + OneOrList(match.require));
  if (match.max_devices > 0) add(format("max_devices = {}", match.max_devices));
  if (match.id) add("id = " + Quoted(match.id->text()));
  if (match.type != NodeType::kDevice) {
    add("type = " + Quoted(kNodeTypeNames[static_cast<std::size_t>(match.type)]));
  }
  return text;
}

std::optional<bool> PatternMatches(const MatchSpec& match, const std::string& path) {
  if (const auto* source = std::get_if<PathSource>(&match.source)) {
    return std::any_of(source->globs.begin(), source->globs.end(),
                       [&](const Glob& glob) { return glob.Matches(path); });
  }
  if (const auto* source = std::get_if<RegexSource>(&match.source)) {
    Captures ignored;
    return source->regex.Match(path, ignored);
  }
  return std::nullopt;
}

}  // namespace patchbay
