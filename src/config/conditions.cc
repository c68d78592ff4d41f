// An invalid part is left out of the result, but never so that the rest matches more: with an
// invalid ID in a list, the whole condition is left out and the match is rejected with its error.

#include "config/conditions.h"

#include "base/ascii.h"
#include "base/format.h"
#include "base/number.h"
#include "base/path.h"

namespace patchbay {
namespace {

using Number = std::optional<std::uint16_t>;

/// Parses four hexadecimal digits, or "*" for any number. Fewer digits are invalid, because they
/// might be meant as decimal.
bool ParseHardwareNumber(std::string_view text, Number& out) {
  if (text == "*") return true;
  out = ParseNumber<std::uint16_t>(text, 16);
  return text.size() == 4 && out.has_value();
}

bool ParseNumbers(const Text& text, std::string_view key, Number& first, Number& second,
                  Reporter& reporter) {
  const auto colon = text.value.find(':');
  if (colon != std::string::npos &&
      ParseHardwareNumber(std::string_view(text.value).substr(0, colon), first) &&
      ParseHardwareNumber(std::string_view(text.value).substr(colon + 1), second)) {
    return true;
  }
  reporter.Report(
      Code::kBadDeviceNumbers, text.place,
      Format("\"{}\" is not a pair of IDs as shown by ls{}", text.value.substr(0, 100), key),
      key == "usb" ? "write vendor:product with four hexadecimal digits each, or * for "
                     "any: \"0403:6001\", \"0403:*\""
                   : "write vendor:device with four hexadecimal digits each, or * for "
                     "any: \"10ee:5000\", \"10ee:*\"");
  return false;
}

std::vector<NamePattern> CompileNames(const std::optional<OneOrMore>& list, Reporter& reporter) {
  std::vector<NamePattern> patterns;
  if (!list) return patterns;
  for (const Text& text : list->items) {
    if (auto pattern = CompileNamePattern(text, reporter)) patterns.push_back(std::move(*pattern));
  }
  return patterns;
}

/// Returns the port in the name of an interface ("1-1.2:1.0") or of its path ("usb1/1-1.2").
std::string PortIn(std::string_view text) {
  text = text.substr(0, text.find(':'));
  const auto before = text.find_last_not_of("0123456789-.");
  return std::string(before == std::string_view::npos ? text : text.substr(before + 1));
}

/// Returns the name in sysfs for an address in upper case or in the short form of lspci.
std::string AddressIn(std::string_view text) {
  const std::string lower = ToLower(text);
  return IsPciAddress(lower) ? lower : "0000:" + lower;
}

/// A condition for names of sysfs.
struct SysfsName {
  bool (*is_valid)(std::string_view);
  std::string (*valid_in)(std::string_view);  ///< returns the valid name in a similar one
  std::string_view what, hint;
};
constexpr SysfsName kUsbPort{
    IsUsbPort, PortIn, "the name of a USB port",
    "write the port as in `ls /sys/bus/usb/devices`: \"1-2\", \"1-2.3\", \"1-2.*\""};
constexpr SysfsName kPciAddress{
    IsPciAddress, AddressIn, "a PCI address",
    "write the address as in `ls /sys/bus/pci/devices`: \"0000:3b:00.0\", \"0000:3b:*\""};

/// Reports names without wildcards that no device has. In `not`, they would exclude nothing.
void CheckNames(const std::optional<OneOrMore>& names, const SysfsName& kind, Reporter& reporter) {
  if (!names) return;
  for (const Text& text : names->items) {
    const auto pattern = NamePattern::Compile(text.value);
    if (!pattern || !pattern->literal() || kind.is_valid(pattern->text())) continue;
    const std::string near = kind.valid_in(pattern->text());
    reporter.Report(Code::kMatchesNothing, text.place,
                    Format("\"{}\" is not {}", text.value.substr(0, 100), kind.what),
                    kind.is_valid(near) ? Format("write \"{}\"", near) : std::string(kind.hint));
  }
}

/// Returns the IDs of a list, or none if one of them is invalid, because an empty list would match
/// every device.
std::optional<std::vector<HardwareId>> CompileIds(const std::optional<OneOrMore>& list,
                                                  std::string_view key, Reporter& reporter) {
  std::vector<HardwareId> ids;
  if (!list) return ids;
  for (const Text& text : list->items) {
    HardwareId id;
    if (ParseNumbers(text, key, id.vendor, id.product, reporter)) ids.push_back(id);
  }
  if (ids.size() != list->items.size()) return std::nullopt;
  return ids;
}

std::optional<UsbPattern> CompileUsb(const ConditionsDraft& draft, Reporter& reporter) {
  UsbPattern usb{{}, CompileNames(draft.serial, reporter), CompileNames(draft.usb_port, reporter)};
  auto ids = CompileIds(draft.usb, "usb", reporter);
  if (!ids) return std::nullopt;
  usb.ids = std::move(*ids);
  return usb;
}

std::optional<PciPattern> CompilePci(const ConditionsDraft& draft, Reporter& reporter) {
  PciPattern pci{{}, CompileNames(draft.pci_address, reporter)};
  auto ids = CompileIds(draft.pci, "pci", reporter);
  if (!ids) return std::nullopt;
  pci.ids = std::move(*ids);
  return pci;
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

/// Reports empty lists, which would match every device.
void ReportEmptyLists(const ConditionsDraft& draft, Reporter& reporter) {
  const std::pair<std::string_view, const std::optional<OneOrMore>*> lists[] = {
      {"usb", &draft.usb}, {"serial", &draft.serial},           {"usb_port", &draft.usb_port},
      {"pci", &draft.pci}, {"pci_address", &draft.pci_address},
  };
  for (const auto& [name, list] : lists) {
    if (!*list || !(*list)->items.empty()) continue;
    reporter.Report(Code::kNoCondition, (*list)->place, "an empty list matches every device",
                    Format("write {} = \"…\", or remove the key", name));
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

HardwarePatterns CompileConditions(const ConditionsDraft& draft, Reporter& reporter) {
  ReportEmptyLists(draft, reporter);
  HardwarePatterns patterns;
  CheckNames(draft.usb_port, kUsbPort, reporter);
  CheckNames(draft.pci_address, kPciAddress, reporter);
  if (draft.usb || draft.usb_port) patterns.usb = CompileUsb(draft, reporter);
  if (draft.pci || draft.pci_address) patterns.pci = CompilePci(draft, reporter);
  if (draft.udev) patterns.udev = CompileUdev(*draft.udev, reporter);
  if (draft.serial && !draft.usb) {
    reporter.Report(Code::kNeedsKey, draft.serial->place, "\"serial\" needs \"usb\"",
                    "add usb = \"*:*\" to match any device with that serial number");
  }
  return patterns;
}

}  // namespace patchbay
