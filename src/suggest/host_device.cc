#include "suggest/host_device.h"

#include <algorithm>

#include "base/escape.h"
#include "base/format.h"

namespace patchbay {

std::string DevpathOf(const DeviceAncestry& device) {
  return device.self().path.substr(std::string_view("/sys").size());
}

bool IsComparable(std::string_view text) {
  constexpr std::size_t kMaxCompared = 256;  // the configuration should stay readable
  return !text.empty() && text.size() <= kMaxCompared && IsPrintable(text);
}

std::string PropertyOf(const HostDevice& device, std::string_view name) {
  std::string value;
  for (const DeviceAncestry& part : device.parts) {
    const auto found = part.self().properties.find(name);
    if (found == part.self().properties.end() || !IsComparable(found->second)) return "";
    if (&part != &device.parts.front() && found->second != value) return "";
    value = found->second;
  }
  return value;
}

std::string DescriptionOf(const HostDevice& device, const Sysfs& sysfs) {
  constexpr std::size_t kMaxNames = 8, kMaxText = 100;  // nodes, and bytes of a text
  const DeviceAncestry& part = device.parts.front();
  std::string text;
  const auto add = [&](std::string more) {
    more.erase(more.find_last_not_of(' ') + 1);
    // Many products repeat their maker.
    if (!text.empty() && more.starts_with(text.substr(2))) text.clear();
    if (!more.empty()) text.append(text.empty() ? ": " : " ").append(Truncate(more, kMaxText));
  };
  const auto attribute = [&](const SysfsDevice& of, std::string_view name) {
    return sysfs.Attribute(of.path, name).value_or("");
  };
  const SysfsDevice* usb = part.UsbDevice();
  if (usb != nullptr) {
    add(attribute(*usb, "manufacturer"));
    add(attribute(*usb, "product"));
  }
  // The model of a disk is not that of its controller.
  for (const SysfsDevice* of : {IsBlock(device) ? nullptr : part.PciDevice(), &part.self()}) {
    if (of == nullptr || usb != nullptr || !text.empty()) continue;
    const auto model = of->properties.find("ID_MODEL_FROM_DATABASE");
    if (model != of->properties.end()) add(model->second);
  }
  if (text.empty()) add(PropertyOf(device, "ID_MODEL"));
  if (text.empty()) add(attribute(part.self(), "name"));
  if (text.empty() && part.self().subsystem == "input" && part.devices.size() > 1) {
    add(attribute(part.devices[1], "name"));
  }
  std::string names;
  for (std::size_t i = 0; i < std::min(device.parts.size(), kMaxNames); ++i) {
    const SysfsDevice& self = device.parts[i].self();
    names += (i == 0 ? "" : ", ") + (self.node.empty() ? self.name : self.node);
  }
  const std::string_view more = device.parts.size() > kMaxNames ? ", …" : "";
  return Format("{}{} ({}{})", device.kind->what, text, names, more);
}

}  // namespace patchbay
