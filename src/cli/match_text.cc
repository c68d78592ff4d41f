#include "cli/match_text.h"

#include <algorithm>

#include "base/format.h"

namespace patchbay {
namespace {

std::string Quoted(std::string_view text) { return format("\"{}\"", text); }

/// One text by itself, several as a list.
template <class Range, class Text>
std::string List(const Range& range, Text text) {
  std::string list;
  for (const auto& item : range) list += (list.empty() ? "" : ", ") + Quoted(text(item));
  return range.size() == 1 ? list : "[" + list + "]";
}

std::string Number(std::optional<std::uint16_t> number) {
  return number ? format("{:04x}", *number) : "*";
}

std::string Table(const UdevPattern::Values& values) {
  std::string table;
  for (const auto& [name, pattern] : values) {
    table += format("{}{} = \"{}\"", table.empty() ? " " : ", ", name, pattern.text());
  }
  return "{" + table + " }";
}

struct SourceText {
  std::string operator()(const PathSource& source) const {
    return "path = " + List(source.globs, [](const Glob& glob) { return glob.text(); });
  }
  std::string operator()(const RegexSource& source) const {
    return "regex = '" + source.regex.text() + "'";
  }
  std::string operator()(const CountSource& source) const {
    return format("count = {}", source.count);
  }
  std::string operator()(const CommandSource& source) const {
    return "command = " + List(source.argv, [](const std::string& text) { return text; });
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
    const auto text = [](const NamePattern& pattern) { return pattern.text(); };
    if (!udev.subsystems.empty()) add("subsystem", List(udev.subsystems, text));
    if (!udev.drivers.empty()) add("driver", List(udev.drivers, text));
    if (!udev.properties.empty()) add("properties", Table(udev.properties));
    if (!udev.attributes.empty()) add("attributes", Table(udev.attributes));
    return "udev = {" + keys + " }";
  }
};

}  // namespace

std::string MatchText(const MatchSpec& match) {
  std::string text = std::visit(SourceText(), match.source);
  const Conditions& conditions = match.conditions;
  if (conditions.usb) text += ", " + SourceText()(*conditions.usb);
  if (conditions.pci) text += ", " + SourceText()(*conditions.pci);
  if (conditions.udev) text += ", " + SourceText()(*conditions.udev);
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
