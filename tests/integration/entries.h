#pragma once

#include <string>
#include <string_view>

#include "base/format.h"

namespace patchbay::test {

/// Every /dev/ttyUSB* is a device of example.com/serial.
inline constexpr std::string_view kSerial = R"(
[[resource]]
name = "example.com/serial"
  [[resource.match]]
  path = "/dev/ttyUSB*"
)";
inline const std::string kSerialName = "example.com/serial";

/// Returns a resource with this `glob`, further keys before its tables, and further tables.
inline std::string Resource(std::string_view name, std::string_view glob,
                            std::string_view keys = "", std::string_view tables = "") {
  return Format("[[resource]]\nname = \"{}\"\n{}\n  [[resource.match]]\n  path = \"{}\"\n{}\n",
                name, keys, glob, tables);
}
/// The same for kSerial.
inline std::string Serial(std::string_view keys = "", std::string_view tables = "") {
  return Resource(kSerialName, "/dev/ttyUSB*", keys, tables);
}

}  // namespace patchbay::test
