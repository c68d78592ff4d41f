#include "config/conditions.h"

#include <charconv>

#include "base/format.h"
#include "base/path.h"

namespace patchbay {
namespace {

using Number = std::optional<std::uint16_t>;

/// Parses four hexadecimal digits, or "*" for any number. Fewer digits are invalid, because they
/// might be meant as decimal.
bool ParseNumber(std::string_view text, Number& out) {
  if (text == "*") return true;
  std::uint16_t number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number, 16);
  if (text.size() != 4 || parsed.ec != std::errc() || parsed.ptr != end) return false;
  out = number;
  return true;
}

bool ParseNumbers(const Text& text, std::string_view key, Number& first, Number& second,
                  Reporter& reporter) {
  const auto colon = text.value.find(':');
  if (colon != std::string::npos &&
      ParseNumber(std::string_view(text.value).substr(0, colon), first) &&
      ParseNumber(std::string_view(text.value).substr(colon + 1), second)) {
    return true;
  }
  reporter.Report(
      Code::kBadDeviceNumbers, text.place,
      format("\"{}\" is not a pair of IDs as shown by ls{}", text.value.substr(0, 100), key),
      key == "usb" ? "write vendor:product with four hexadecimal digits each, or * for "
                     "any: \"0403:6001\", \"0403:*\""
                   : "write vendor:device with four hexadecimal digits each, or * for "
                     "any: \"10ee:5000\", \"10ee:*\"");
  return false;
}

std::optional<UsbPattern> CompileUsb(const MatchDraft& draft, Reporter& reporter) {
  UsbPattern usb;
  if (draft.serial) usb.serial = CompileNamePattern(*draft.serial, reporter);
  if (!ParseNumbers(*draft.usb, "usb", usb.vendor, usb.product, reporter)) return std::nullopt;
  return usb;
}

std::optional<PciPattern> CompilePci(const Text& text, Reporter& reporter) {
  PciPattern pci;
  if (!ParseNumbers(text, "pci", pci.vendor, pci.device, reporter)) return std::nullopt;
  return pci;
}

std::vector<NamePattern> CompileNames(const std::optional<OneOrMore>& list, Reporter& reporter) {
  std::vector<NamePattern> patterns;
  if (!list) return patterns;
  for (const Text& text : list->items) {
    if (auto pattern = CompileNamePattern(text, reporter)) patterns.push_back(std::move(*pattern));
  }
  return patterns;
}

UdevPattern::Values CompileValues(const std::optional<PatternPairs>& pairs, Reporter& reporter) {
  UdevPattern::Values values;
  if (!pairs) return values;
  for (const auto& [name, text] : pairs->items) {
    auto pattern = CompileNamePattern(text, reporter);
    if (pattern) values.emplace_back(name.value, std::move(*pattern));
  }
  return values;
}

/// Reports attribute names that are not paths below the sysfs directory of the device.
void CheckAttributeNames(const PatternPairs& attributes, Reporter& reporter) {
  for (const auto& [name, pattern] : attributes.items) {
    if (IsShortestPath("/" + name.value)) continue;
    reporter.Report(Code::kBadPath, name.place, "not a valid name of a sysfs attribute",
                    "use the name below the device directory: idVendor, device/model");
  }
}

std::optional<UdevPattern> CompileUdev(const UdevDraft& draft, Reporter& reporter) {
  const auto empty = [](const auto& list) { return !list || list->items.empty(); };
  if (!draft.broken && empty(draft.subsystem) && empty(draft.driver) && empty(draft.properties) &&
      empty(draft.attributes)) {
    reporter.Report(Code::kNoCondition, draft.place, "this condition matches every device",
                    "add a subsystem, a driver, properties or attributes: "
                    "udev = { subsystem = \"tty\" }");
    return std::nullopt;
  }
  if (draft.attributes) CheckAttributeNames(*draft.attributes, reporter);
  return UdevPattern{CompileNames(draft.subsystem, reporter), CompileNames(draft.driver, reporter),
                     CompileValues(draft.properties, reporter),
                     CompileValues(draft.attributes, reporter)};
}

}  // namespace

std::optional<NamePattern> CompileNamePattern(const Text& text, Reporter& reporter) {
  auto pattern = NamePattern::Compile(text.value);
  if (pattern) return std::move(*pattern);
  reporter.Report(Code::kBadGlob, text.At(pattern.error().offset), pattern.error().message,
                  "supported: *, ? and [a-z]");
  return std::nullopt;
}

HardwarePatterns CompileConditions(const MatchDraft& draft, Reporter& reporter) {
  HardwarePatterns patterns;
  if (draft.usb) patterns.usb = CompileUsb(draft, reporter);
  if (draft.pci) patterns.pci = CompilePci(*draft.pci, reporter);
  if (draft.udev) patterns.udev = CompileUdev(*draft.udev, reporter);
  if (draft.serial && !draft.usb) {
    reporter.Report(Code::kNeedsKey, draft.serial->place, "\"serial\" needs \"usb\"",
                    "add usb = \"*:*\" to match any device with that serial number");
  }
  return patterns;
}

}  // namespace patchbay
