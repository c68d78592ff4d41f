#pragma once

#include <libudev.h>

#include <memory>
#include <string>

#include "discovery/udev_properties.h"

namespace patchbay::test {

/// Returns libudev's properties of a device of this system; empty for an unknown device.
inline Properties ReadByLibudev(const std::string& syspath) {
  const std::unique_ptr<udev, decltype(&udev_unref)> context(udev_new(), &udev_unref);
  const std::unique_ptr<udev_device, decltype(&udev_device_unref)> device(
      udev_device_new_from_syspath(context.get(), syspath.c_str()), &udev_device_unref);
  Properties properties;
  if (!device) return properties;
  udev_list_entry* entry = nullptr;
  udev_list_entry_foreach(entry, udev_device_get_properties_list_entry(device.get())) {
    const char* value = udev_list_entry_get_value(entry);
    properties[udev_list_entry_get_name(entry)] = value == nullptr ? "" : value;
  }
  return properties;
}

/// Returns the first of these properties that libudev does not have, or that differs; "" if there
/// is none. The order of DEVLINKS is undefined.
inline std::string DifferenceFromLibudev(const std::string& syspath, const Properties& properties) {
  const Properties known = ReadByLibudev(syspath);
  for (const auto& [name, value] : properties) {
    const auto at = known.find(name);
    if (at == known.end()) return name + " is unknown to libudev";
    const bool same = name == "DEVLINKS" ? at->second.size() == value.size() : at->second == value;
    if (!same) return name + " is \"" + at->second + "\" by libudev, not \"" + value + "\"";
  }
  return "";
}

}  // namespace patchbay::test
