#pragma once

#include <string>
#include <vector>

#include "base/path.h"
#include "config/toml_writer.h"
#include "convert/diagnostics.h"
#include "convert/patterns.h"
#include "convert/yaml.h"

namespace patchbay {

/// One path in a group of generic-device-plugin, with the plugin's defaults.
struct GenericPath {
  std::string path;
  GoPattern pattern = {};           ///< the path for Patchbay, when it is known to be on the host
  std::string mount_path = {};      ///< in the container; empty: the same as on the host
  std::string permissions = "rwm";  ///< in the order r, w, m
  bool is_mount = false;            ///< `type: Mount`: a bind mount, not a device
  bool is_directory = false;        ///< of device nodes; see Directories
  bool read_only = false;           ///< of a mount
  bool optional = false;
  int limit = 1;  ///< how many devices of the group can share one node of this path
  SourceLocation place = {};

  bool is_literal() const { return pattern.path.has_value(); }
  /// Returns whether the path in the container is the same as on the host.
  bool is_in_place() const { return mount_path.empty() || mount_path == pattern.path; }
  /// The last component of the path, which must be literal.
  std::string name() const { return std::string(BaseName(*pattern.path)); }
};

/// One USB ID in a group.
struct GenericUsb {
  std::string vendor, product;  ///< four lower-case hexadecimal digits
  std::string serial = {};
};

/// The paths of a group form one device together. If they are globs, the first match of each glob
/// forms the first device, the second match of each the second device, and so on. All USB devices
/// that match an entry of `usb` form one device. MicroShift has `usbs` instead.
struct GenericGroup {
  int count = 1;  ///< how many times each device is advertised
  std::vector<GenericPath> paths = {};
  std::vector<GenericUsb> usb = {};
  SourceLocation place = {};
};

/// Reads a group of a device. `is_file` is true for the configuration file, in which the plugin
/// reads numbers without quotes as decimal. Differences in numbers are added to `notes`.
GenericGroup ReadGenericGroup(const YamlValue& value, bool is_file, Notes& notes,
                              Findings& findings);

/// Returns whether a value is a list of groups, which no other program has.
bool AreGenericGroups(const YamlValue& value);

}  // namespace patchbay
