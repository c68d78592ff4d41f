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

Variables DeviceVariables(const AttributeInput& input) {
  Variables variables = VariablesOf(input.device, input.resource, input.node_name);
  variables.id = input.device.id;
  return variables;
}

}  // namespace

DeviceAttributes AttributesOf(const AttributeInput& input, std::span<const AttributeSpec> specs) {
  DeviceAttributes result;
  const auto add = [&](std::string_view name, Result<AttributeValue> value) {
    const bool has_room =
        result.values.size() < input.max_attributes || result.values.contains(name);
    if (value && has_room) {
      result.values.insert_or_assign(std::string(name), *std::move(value));
      return;
    }
    std::string reason =
        value ? Format(
                    "the device has {} attributes already, and the API server accepts no more; "
                    "define fewer",
                    input.max_attributes)
              : std::move(value).error().message;
    result.problems.push_back({std::string(name), std::move(reason)});
  };
  const Variables variables = DeviceVariables(input);
  for (const AutomaticAttribute& row : kAutomatic) {
    const auto variable = variables.Find(row.variable);
    if (!variable) continue;
    if (const auto* number = std::get_if<std::int64_t>(&*variable)) {
      add(row.name, AttributeValue(*number));
      continue;
    }
    const auto text = std::get<std::string_view>(*variable);
    if (text.empty()) continue;
    auto value = ParseAttribute(AttributeType::kString, std::string(text));
    if (value && !row.is_valid(text)) {
      value = Fail(ErrorKind::kInvalid,
                   Format("\"{}\" does not have the form of this attribute", text));
    }
    add(row.name, std::move(value));
  }
  for (const AttributeSpec& spec : specs) {
    const auto text = spec.value.Render(variables);
    add(spec.name, text ? ParseAttribute(spec.type, *text)
                        : Fail(ErrorKind::kInvalid, Printable(text.error().message)));
  }
  result.values.shrink_to_fit();
  return result;
}

Capacities CapacitiesOf(const AttributeInput& input, std::span<const CapacitySpec> specs,
                        int replicas, std::vector<AttributeProblem>& problems) {
  Capacities capacities;
  const Variables variables = DeviceVariables(input);
  for (const CapacitySpec& spec : specs) {
    const auto text = spec.value.Render(variables);
    auto capacity = text ? CapacityOf(spec, *text, replicas) : Failure(text.error());
    if (capacity) {
      capacities.emplace(spec.name, *std::move(capacity));
    } else {
      problems.push_back({spec.name, Printable(capacity.error().message)});
    }
  }
  return capacities;
}

}  // namespace patchbay
