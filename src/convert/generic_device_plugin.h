#pragma once

#include <string>
#include <vector>

#include "convert/convert.h"
#include "convert/diagnostics.h"
#include "convert/manifest.h"
#include "convert/toml_writer.h"

namespace patchbay {

/// What generic-device-plugin can be told, with its defaults filled in.
struct GenericPath {
  std::string path;
  std::string mount_path = {};      ///< in the container; absent: the path as found
  std::string permissions = "rwm";  ///< in our order
  bool is_mount = false;            ///< a bind mount and no device
  bool is_directory = false;        ///< of devices, as far as anybody can tell
  bool read_only = false;           ///< of a mount
  bool optional = false;
  int limit = 1;  ///< how many devices of the group may have one and the same node of this path
  SourceLocation place = {};
};

struct GenericUsb {
  std::string vendor, product;  ///< four hexadecimal digits
  std::string serial = {};
  SourceLocation place = {};
};

/// Several paths are one device: of globs the first match of each, then the second and so on. All
/// USB devices that any of `usb` finds are one device too.
struct GenericGroup {
  int count = 1;  ///< how many times each device is advertised
  std::vector<GenericPath> paths = {};
  std::vector<GenericUsb> usb = {};
  SourceLocation place = {};
};

struct GenericDevice {
  std::string name;  ///< without the domain
  std::vector<GenericGroup> groups = {};
  SourceLocation place = {};
  Notes notes = {};
};

/// One device as a flag or the file has it. `is_file` is whether it is from the configuration file,
/// which takes numbers without quotes for decimal ones.
GenericDevice ReadGenericDevice(const YamlValue& value, bool is_file, Findings& findings);

/// The old form of a flag: name,path,path.
GenericDevice ReadGenericList(const YamlValue& value);

/// The device as a resource of this name.
NewResource ResourceOf(const GenericDevice& device, const std::string& name, Findings& findings);

/// All that is in a file.
NewFile ConvertGenericDevicePlugin(const Manifest& manifest, const std::string& file,
                                   const ConvertHints& hints, Findings& findings);

}  // namespace patchbay
