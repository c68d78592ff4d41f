#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convert/convert.h"
#include "convert/diagnostics.h"
#include "convert/manifest.h"
#include "convert/toml_writer.h"
#include "convert/yaml.h"

namespace patchbay {

/// One path in a group of generic-device-plugin, with the plugin's defaults.
struct GenericPath {
  std::string path;
  std::string mount_path = {};      ///< in the container; empty: the same as on the host
  std::string permissions = "rwm";  ///< in the order r, w, m
  bool is_mount = false;            ///< `type: Mount`: a bind mount, not a device
  bool is_directory = false;        ///< of device nodes; see Directories
  bool read_only = false;           ///< of a mount
  bool optional = false;
  int limit = 1;  ///< how many devices of the group can share one node of this path
  SourceLocation place = {};
};

/// One USB ID in a group.
struct GenericUsb {
  std::string vendor, product;  ///< four lower-case hexadecimal digits
  std::string serial = {};
  SourceLocation place = {};
};

/// The paths of a group form one device together. If they are globs, the first match of each glob
/// forms the first device, the second match of each the second device, and so on. All USB devices
/// that match an entry of `usb` form one device. MicroShift has `usbs` instead.
struct GenericGroup {
  int count = 1;  ///< how many times each device is advertised
  std::vector<GenericPath> paths = {};
  std::vector<GenericUsb> usb = {};
  SourceLocation place = {};
  std::string source = {};              ///< for the comment if it cannot be converted
  std::vector<Diagnostic> errors = {};  ///< of the reader
};

/// An entry of `devices`, which the plugin advertises as one resource.
struct GenericDevice {
  std::string name = {};  ///< without the domain
  std::vector<GenericGroup> groups = {};
  SourceLocation place = {};
  Notes notes = {};
  std::string source = {};
  std::vector<Diagnostic> errors = {};  ///< other than those of groups
};

/// Reads one device from a --device flag or the configuration file. `is_file` is true for the
/// file, in which the plugin reads numbers without quotes as decimal.
GenericDevice ReadGenericDevice(const YamlValue& value, bool is_file, Findings& findings);

/// Reads a device from the old form of --device: name,path,path. Each path is a group.
GenericDevice ReadGenericList(std::string_view text, const SourceLocation& place);

/// Converts the device to a resource with this name. Groups that cannot be converted are findings
/// and are added to `refused`; if there are no others, the resource has no matches.
NewResource ResourceOf(const GenericDevice& device, const std::string& name, Findings& findings,
                       std::vector<Refusal>& refused);

/// Returns whether a value is the plugin's file, or a part of another file with the same `devices`.
bool IsGenericConfiguration(const YamlValue& value, bool is_root);

/// Returns a misspelled `devices` or `groups`, because of which a map is not a configuration of the
/// plugin.
std::optional<Misspelled> FindMisspelledGeneric(const YamlValue& value);

/// Converts all devices in a manifest. Returns nothing if it has no configuration of the plugin.
std::optional<NewFile> ConvertGenericDevicePlugin(const Manifest& manifest,
                                                  const ConvertHints& hints, Findings& findings);

}  // namespace patchbay
