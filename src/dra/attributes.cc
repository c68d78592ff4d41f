// Automatic attributes are rows of a table: a variable of the device, the name of the attribute and
// a rule for its text. Specified attributes are templates, whose text is parsed by type. Both pass
// ParseAttribute, which checks length and bytes, because variables hold text from the device.

#include "dra/attributes.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/escape.h"
#include "base/format.h"
#include "model/variables.h"

namespace patchbay {
namespace {

/// Returns whether `text` has the form of `picture`, in which "h" is a lower-case hexadecimal
/// digit.
bool HasForm(std::string_view text, std::string_view picture) {
  return std::ranges::equal(text, picture,
                            [](char c, char p) { return p == 'h' ? IsLowerHex(c) : c == p; });
}

bool IsAnyText(std::string_view) { return true; }
bool IsPciAddress(std::string_view text) { return HasForm(text, "hhhh:hh:hh.h"); }
bool IsPcieRoot(std::string_view text) { return HasForm(text, "pcihhhh:hh"); }

struct AutomaticAttribute {
  std::string_view variable;
  std::string_view name;
  bool (*is_valid)(std::string_view);
};

constexpr AutomaticAttribute kAutomatic[] = {
    {"resource", "resource", IsAnyText},
    {"id", "id", IsAnyText},
    {"path", "path", IsAnyText},
    {"usb_vendor", "usbVendor", IsAnyText},
    {"usb_product", "usbProduct", IsAnyText},
    {"usb_serial", "usbSerial", IsAnyText},
    {"pci_vendor", "pciVendor", IsAnyText},
    {"pci_device", "pciDevice", IsAnyText},
    {"driver", "driver", IsAnyText},
    {"numa_node", "resource.kubernetes.io/numaNode", IsAnyText},
    {"pci_address", "resource.kubernetes.io/pciBusID", IsPciAddress},
    {"pcie_root", "resource.kubernetes.io/pcieRoot", IsPcieRoot},
};

/// Collects the attributes of one device.
class AttributeBuilder {
 public:
  explicit AttributeBuilder(std::size_t max_attributes) : max_attributes_(max_attributes) {}

  void Add(std::string_view name, AttributeValue value) {
    const bool is_new = !result_.values.contains(name);
    if (is_new && result_.values.size() >= max_attributes_) {
      return Report(name, Format("the device has {} attributes already, and the API server accepts "
                                 "no more; define fewer",
                                 max_attributes_));
    }
    result_.values.insert_or_assign(std::string(name), std::move(value));
  }

  void AddAutomatic(const AutomaticAttribute& row, std::string_view text) {
    if (text.empty()) return;
    auto value = ParseAttribute(AttributeType::kString, std::string(text));
    if (!value) return Report(row.name, std::move(value).error().message);
    if (!row.is_valid(text)) {
      return Report(row.name, Format("\"{}\" does not have the form of this attribute", text));
    }
    Add(row.name, *std::move(value));
  }

  void AddSpecified(const AttributeSpec& spec, const Variables& variables) {
    const auto text = spec.value.Render(variables);
    if (!text) return Report(spec.name, Printable(text.error().message));
    auto value = ParseAttribute(spec.type, *text);
    if (!value) return Report(spec.name, std::move(value).error().message);
    Add(spec.name, std::move(*value));
  }

  DeviceAttributes Build() && {
    result_.values.shrink_to_fit();
    return std::move(result_);
  }

 private:
  void Report(std::string_view name, std::string reason) {
    result_.problems.push_back({std::string(name), std::move(reason)});
  }

  const std::size_t max_attributes_;
  DeviceAttributes result_;
};

}  // namespace

DeviceAttributes AttributesOf(const AttributeInput& input, std::span<const AttributeSpec> specs) {
  AttributeBuilder builder(input.max_attributes);
  Variables variables = VariablesOf(input.device, input.resource, input.node_name);
  variables.id = input.device.id;
  for (const AutomaticAttribute& row : kAutomatic) {
    const auto value = variables.Find(row.variable);
    if (!value) continue;
    if (const auto* number = std::get_if<std::int64_t>(&*value)) {
      builder.Add(row.name, *number);
    } else {
      builder.AddAutomatic(row, std::get<std::string_view>(*value));
    }
  }
  for (const AttributeSpec& spec : specs) builder.AddSpecified(spec, variables);
  return std::move(builder).Build();
}

}  // namespace patchbay
