// All keys of a rule that are about parents (ATTRS, KERNELS, DRIVERS) must match one parent, so a
// rule has those of the first of the USB device, the PCI function and the attributes of the match.
// udev has no escapes: a pattern that needs one is left out.

#include "discovery/udev_rule.h"

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "discovery/conditions.h"

namespace patchbay {
namespace {

/// Returns the patterns as one of udev, or nothing if it cannot have them.
std::optional<std::string> UdevPatternOf(const std::vector<NamePattern>& patterns) {
  std::string text;
  for (const NamePattern& pattern : patterns) {
    const std::string& one = pattern.text();
    const std::string_view special = pattern.literal() ? "\"\\|*?[" : "\"\\|";
    if (one.empty() || !IsPrintable(one) || one.find_first_of(special) != std::string::npos) {
      return std::nullopt;
    }
    const bool is_any = one.find_first_not_of('*') == std::string::npos;
    // In udev, * also matches a value that does not exist.
    text.append(text.empty() ? "" : "|").append(is_any ? "?*" : one);
  }
  return text;
}

/// Returns the pattern for the link `path` as one of udev, which is relative to /dev.
std::optional<std::string> LinkPatternOf(const std::string& path, const MatchSpec& match) {
  const auto* source = std::get_if<PathSource>(&match.source);
  if (source == nullptr) return std::nullopt;
  for (const Glob& glob : source->globs) {
    for (const Glob::Components& alternative : glob.alternatives()) {
      if (!Glob::Matches(alternative, path)) continue;
      std::string text;
      for (const auto& [name, any_depth] : alternative) {
        const auto one = any_depth ? std::nullopt : UdevPatternOf({name});
        if (!one) return std::nullopt;
        text += "/" + *one;
      }
      if (text.starts_with("/dev/")) return text.substr(5);
    }
  }
  return std::nullopt;
}

class UdevRule {
 public:
  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }
  void Add(std::string_view key, const std::optional<std::string>& pattern) {
    if (!pattern || pattern->empty()) return;
    text_ += Format("{}{}==\"{}\"", text_.empty() ? "" : ", ", key, *pattern);
  }
  void Add(std::string_view key, const std::vector<NamePattern>& patterns) {
    Add(key, UdevPatternOf(patterns));
  }
  /// Adds the first of the IDs that the device has: `numbers` is "0403:6001".
  void AddId(const std::vector<HardwareId>& ids, std::string_view numbers, std::string_view vendor,
             std::string_view product, std::string_view prefix) {
    const auto text = [](std::optional<std::uint16_t> number) {
      return number ? Format("{:04x}", *number) : "";
    };
    for (const HardwareId& id : ids) {
      const std::string first = text(id.vendor), second = text(id.product);
      if (!numbers.starts_with(first) || !numbers.ends_with(second)) continue;
      if (id.vendor) Add(Format("ATTRS{{{}}}", vendor), Format("{}{}", prefix, first));
      if (id.product) Add(Format("ATTRS{{{}}}", product), Format("{}{}", prefix, second));
      return;
    }
  }
  void Append(const UdevRule& other) { text_ += ", " + other.text_; }
  void AddEach(std::string_view key, const UdevPattern::Values& values) {
    for (const auto& [name, patterns] : values) {
      const bool is_plain = std::ranges::all_of(name, [](char c) {
        return IsAlnum(c) || std::string_view("_-./:").find(c) != std::string_view::npos;
      });
      if (is_plain) Add(Format("{}{{{}}}", key, name), patterns);
    }
  }

 private:
  std::string text_;
};

/// Returns the pattern of the match for this kind of hardware if the node meets it.
template <class Pattern>
const Pattern* PatternFor(const DeviceAncestry& device, const MatchSpec& match,
                          const std::optional<Pattern>& condition, const Sysfs& sysfs) {
  const Pattern* pattern = condition ? &*condition : std::get_if<Pattern>(&match.source);
  return pattern == nullptr || FirstMismatch(*pattern, device, sysfs) ? nullptr : pattern;
}

void AddHardware(const DeviceAncestry& device, const MatchSpec& match, ScanContext& scan,
                 UdevRule& rule) {
  const HardwarePatterns& conditions = match.conditions;
  UdevRule parent;
  if (const auto* usb = PatternFor(device, match, conditions.usb, scan.sysfs())) {
    parent.AddId(usb->ids, scan.ancestries().NumbersOf(*device.UsbDevice()), "idVendor",
                 "idProduct", "");
    parent.Add("ATTRS{serial}", usb->serials);
    parent.Add("KERNELS", usb->ports);
  }
  const auto* pci = PatternFor(device, match, conditions.pci, scan.sysfs());
  if (pci != nullptr && parent.empty()) {
    parent.AddId(pci->ids, scan.ancestries().NumbersOf(*device.PciDevice()), "vendor", "device",
                 "0x");
    parent.Add("KERNELS", pci->addresses);
  }
  if (const auto* udev = PatternFor(device, match, conditions.udev, scan.sysfs())) {
    rule.AddEach("ENV", udev->properties);
    if (parent.empty()) parent.AddEach("ATTRS", udev->attributes);
    if (parent.empty()) parent.Add("DRIVERS", udev->drivers);
  }
  if (!parent.empty()) rule.Append(parent);
}

}  // namespace

std::string UdevConditionsFor(const std::string& path, const HostNode& node, const MatchSpec& match,
                              ScanContext& scan) {
  const auto syspath = scan.sysfs().OfNode(node.type, node.major, node.minor);
  const auto device = syspath ? scan.ancestries().Of(*syspath) : Failure(syspath.error());
  const bool is_known = device && !device->self().subsystem.empty();
  std::string name(is_known ? device->self().name : BaseName(node.path));
  const std::string subsystem = is_known ? device->self().subsystem : "";
  const bool is_plain = std::ranges::all_of(subsystem + name, [](char c) {
    return IsAlnum(c) || std::string_view("_-.:+@!,=#~").find(c) != std::string_view::npos;
  });
  if (!is_plain) return "";
  UdevRule rule;
  rule.Add("SUBSYSTEM", subsystem);
  const std::size_t length = name.size();
  while (is_known && !name.empty() && IsDigit(name.back())) name.pop_back();
  rule.Add("KERNEL", name.size() < length ? name + "[0-9]*" : name);
  if (is_known) AddHardware(*device, match, scan, rule);
  if (path != node.path) rule.Add("SYMLINK", LinkPatternOf(path, match));
  return rule.text();
}

}  // namespace patchbay
