#include "config/conditions.h"

#include <algorithm>
#include <iterator>

#include "base/ascii.h"
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

std::optional<HardwareId> ParseId(std::string_view text) {
  const auto colon = text.find(':');
  HardwareId id;
  const bool is_valid = colon != std::string_view::npos &&
                        ParseHardwareNumber(text.substr(0, colon), id.vendor) &&
                        ParseHardwareNumber(text.substr(colon + 1), id.product);
  return is_valid ? std::optional(id) : std::nullopt;
}

bool IsId(const NamePattern& pattern) { return ParseId(pattern.text()).has_value(); }

/// Returns whether a pattern without brackets at its beginning can match a valid name: whether the
/// end of one of the examples completes the text before the first wildcard.
bool CanMatch(std::string_view pattern, bool (*is_valid)(std::string_view),
              std::initializer_list<std::string_view> examples) {
  const auto wildcard = pattern.find_first_of("*?[\\");
  if (wildcard == std::string_view::npos) return is_valid(pattern);
  return std::ranges::any_of(examples, [&](std::string_view example) {
    for (std::size_t at = 0; at <= example.size(); ++at) {
      if (is_valid(std::string(pattern.substr(0, wildcard)).append(example.substr(at))))
        return true;
    }
    return false;
  });
}

bool CanMatchPort(std::string_view pattern) {
  return CanMatch(pattern, IsUsbPort, {"1-1.1", "usb1"});
}

/// Returns the port in the name of an interface ("1-1.2:1.0") or of its path ("usb1/1-1.2"), or "".
std::string PortIn(std::string_view text) {
  text = text.substr(0, text.find(':'));
  text.remove_prefix(text.find_last_not_of("0123456789-.") + 1);  // npos + 1 is 0
  return CanMatchPort(text) ? std::string(text) : "";
}

bool CanMatchAddress(std::string_view pattern) {
  return CanMatch(pattern, IsPciAddress, {"00000000:00:00.0"});  // domains can have 8 digits
}

/// Returns the name in sysfs for an address in upper case or in the short form of lspci, or "".
std::string AddressIn(std::string_view text) {
  const std::string lower = ToLower(text);
  const std::string address = CanMatchAddress(lower) ? lower : "0000:" + lower;
  return CanMatchAddress(address) ? address : "";
}

constexpr NameKind kAnyText{.notation = PatternKind::kText};
constexpr NameKind kKernelName{.notation = PatternKind::kName};
constexpr NameKind kUsbId{.notation = PatternKind::kDotted,
                          .can_match = IsId,
                          .code = Code::kBadValue,
                          .what = "a pair of IDs as shown by lsusb",
                          .hint =
                              "write vendor:product with four hexadecimal digits each, or * for "
                              "any: \"0403:6001\", \"0403:*\""};
constexpr NameKind kPciId{.notation = PatternKind::kDotted,
                          .can_match = IsId,
                          .code = Code::kBadValue,
                          .what = "a pair of IDs as shown by lspci",
                          .hint =
                              "write vendor:device with four hexadecimal digits each, or * for "
                              "any: \"10ee:5000\", \"10ee:*\""};
constexpr NameKind kUsbPort{
    .notation = PatternKind::kDotted,
    .can_match = [](const NamePattern& pattern) { return CanMatchPort(pattern.text()); },
    .corrected = PortIn,
    .what = "the name of a USB port",
    .hint = "write the port as in `ls /sys/bus/usb/devices`: \"1-2\", \"1-2.3\", \"1-2.*\""};
constexpr NameKind kPciAddress{
    .notation = PatternKind::kDotted,
    .can_match = [](const NamePattern& pattern) { return CanMatchAddress(pattern.text()); },
    .corrected = AddressIn,
    .what = "a PCI address",
    .hint = "write the address as in `ls /sys/bus/pci/devices`: \"0000:3b:00.0\", \"0000:3b:*\""};

std::vector<HardwareId> CompileIds(const std::vector<Text>& list, const NameKind& kind,
                                   PatternCompiler& patterns) {
  std::vector<HardwareId> ids;
  for (const NamePattern& name : patterns.Names(list, kind)) {
    if (const auto id = ParseId(name.text())) ids.push_back(*id);
  }
  return ids;
}

/// The items of a list follow one another in GetPairs.
UdevPattern::Values CompileValues(const Section& udev, std::string_view key,
                                  PatternCompiler& patterns) {
  UdevPattern::Values values;
  for (const auto& [name, text] : udev.GetPairs(key)) {
    if (values.empty() || values.back().first != name.value) {
      values.emplace_back(name.value, std::vector<NamePattern>());
    }
    std::ranges::move(patterns.Names({text}, kAnyText), std::back_inserter(values.back().second));
  }
  return values;
}

/// Reports attribute names that are not paths below the sysfs directory of the device.
void CheckAttributeNames(const Section& udev, Reporter& reporter) {
  for (const auto& [name, pattern] : udev.GetPairs("attributes")) {
    if (IsShortestPath("/" + name.value)) continue;
    reporter.Report(Code::kBadPath, name.place, "not a valid name of a sysfs attribute",
                    "use the name below the device directory: idVendor, device/model");
  }
}

UdevPattern CompileUdev(const Section& udev, PatternCompiler& patterns) {
  CheckAttributeNames(udev, patterns.reporter());
  return {patterns.Names(udev.GetTexts("subsystem"), kKernelName),
          patterns.Names(udev.GetTexts("driver"), kKernelName),
          CompileValues(udev, "properties", patterns), CompileValues(udev, "attributes", patterns)};
}

}  // namespace

HardwarePatterns CompileConditions(const Section& section, PatternCompiler& patterns) {
  const auto texts = [&](std::string_view key) { return section.GetTexts(key); };
  HardwarePatterns conditions;
  if (section.Has("usb") || section.Has("usb_port")) {
    conditions.usb = UsbPattern{CompileIds(texts("usb"), kUsbId, patterns),
                                patterns.Names(texts("serial"), kAnyText),
                                patterns.Names(texts("usb_port"), kUsbPort)};
  }
  if (section.Has("pci") || section.Has("pci_address")) {
    conditions.pci = PciPattern{CompileIds(texts("pci"), kPciId, patterns),
                                patterns.Names(texts("pci_address"), kPciAddress)};
  }
  if (const Section* udev = section.GetSection("udev")) {
    conditions.udev = CompileUdev(*udev, patterns);
  }
  return conditions;
}

}  // namespace patchbay
