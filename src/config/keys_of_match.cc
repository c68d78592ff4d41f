// The keys of [[resource.match]], its conditions and its device nodes. The key of the lowest
// alternative_group that a match has is its source; config/match.cc compiles it.

#include "config/decode.h"
#include "config/keys.h"
#include "config/schema_patterns.h"
#include "model/spec.h"

namespace patchbay {
namespace {

constexpr std::string_view kUsb[] = {"usb"};
constexpr std::string_view kCommand[] = {"command"};
constexpr std::string_view kFindsPaths[] = {"path", "regex", "command"};
constexpr std::string_view kPath[] = {"path"};
constexpr std::string_view kGroupBy[] = {"group_by"};
constexpr std::string_view kExclude[] = {"exclude"};
constexpr std::string_view kExcludedByCommand[] = {"usb",         "pci",  "usb_port",
                                                   "pci_address", "udev", "not"};
constexpr std::string_view kExcludedByCount[] = {
    "usb",  "pci",      "usb_port", "pci_address",      "udev",
    "not",  "exclude",  "id",       "exclude_required", "allow_mounted",
    "type", "group_by", "together", "require",          "max_devices"};

constexpr Key<MatchDraft> kMatchKeys[] = {
    KeyFor<&MatchDraft::path>(
        {.name = "path",
         .meaning = "source: one or more globs; devices are the paths that match",
         .example = R"("/dev/ttyUSB*")",
         .pattern = kGlobPattern,
         .non_empty = true,
         .alternative_group = 1}),
    KeyFor<&MatchDraft::regex>(
        {.name = "regex",
         .meaning =
             "source: an RE2 regular expression for the whole path; named groups are variables",
         .example = R"_("/dev/ttyUSB(?P<port>[0-9]+)")_",
         .pattern = kRegexPattern,
         .alternative_group = 1}),
    KeyFor<&MatchDraft::conditions, &ConditionsDraft::usb>(
        {.name = "usb",
         .meaning = "source or condition: USB IDs \"vendor:product\" in hexadecimal; * matches any",
         .example = R"("0403:6001")",
         .pattern = kDeviceNumbersPattern,
         .non_empty = true,
         .alternative_group = 2}),
    KeyFor<&MatchDraft::conditions, &ConditionsDraft::serial>(
        {.name = "serial",
         .meaning = "with usb: patterns for the serial number",
         .example = R"("A9*")",
         .non_empty = true,
         .needs = kUsb}),
    KeyFor<&MatchDraft::conditions, &ConditionsDraft::usb_port>(
        {.name = "usb_port",
         .meaning = "condition: patterns for the USB port, as in {usb_port}",
         .example = R"("1-2.*")",
         .non_empty = true}),
    KeyFor<&MatchDraft::conditions, &ConditionsDraft::pci>(
        {.name = "pci",
         .meaning = "source or condition: PCI IDs \"vendor:device\" in hexadecimal; * matches any",
         .example = R"("10ee:*")",
         .pattern = kDeviceNumbersPattern,
         .non_empty = true,
         .alternative_group = 2}),
    KeyFor<&MatchDraft::conditions, &ConditionsDraft::pci_address>(
        {.name = "pci_address",
         .meaning = "condition: patterns for the PCI address, as in {pci_address}",
         .example = R"("0000:3b:*")",
         .non_empty = true}),
    KeyFor<&MatchDraft::conditions, &ConditionsDraft::udev>(
        {.name = "udev",
         .table = UdevDraft::kSection,
         .meaning = "source or condition: properties of a device as in udev rules",
         .example = R"({"subsystem": "tty"})",
         .non_empty = true,
         .alternative_group = 3,
         .alternative_requires = "subsystem"}),
    KeyFor<&MatchDraft::negated>(
        {.name = "not",
         .table = ConditionsDraft::kSection,
         .meaning = "conditions; devices that meet all of them are not matched",
         .example = R"({"usb_port": "1-2"})",
         .non_empty = true}),
    KeyFor<&MatchDraft::command>(
        {.name = "command",
         .meaning =
             "source: a program and its arguments, run without a shell; devices are its output",
         .example = R"(["/usr/local/bin/list-ports", "--json"])",
         .pattern = kArgumentPattern,
         .non_empty = true,
         .alternative_group = 1,
         .excludes = kExcludedByCommand}),
    KeyFor<&MatchDraft::timeout>({.name = "timeout",
                                  .default_value = R"("10s")",
                                  .meaning = "with command: the program is killed after this time",
                                  .range = {100, 300 * kSecond},
                                  .needs = kCommand}),
    KeyFor<&MatchDraft::count>(
        {.name = "count",
         .meaning = "source: the number of devices, which have no node on the host",
         .range = {1, 10'000},
         .example = "8",
         .alternative_group = 1,
         .excludes = kExcludedByCount}),
    KeyFor<&MatchDraft::exclude>(
        {.name = "exclude",
         .meaning = "globs of nodes, or of links to nodes, that are excluded",
         .example = R"("/dev/ttyUSB9*")",
         .pattern = kGlobPattern}),
    KeyFor<&MatchDraft::exclude_required>(
        {.name = "exclude_required",
         .default_value = "false",
         .meaning = "no device is advertised while a glob of exclude excludes nothing",
         .example = "true",
         .needs = kExclude}),
    KeyFor<&MatchDraft::allow_mounted>(
        {.name = "allow_mounted",
         .default_value = "false",
         .meaning = "disks that the host uses are advertised; no hook runs for them",
         .example = "true"}),
    KeyFor<&MatchDraft::id>({.name = "id",
                             .meaning = "the ID of a device; default: derived from its path",
                             .example = R"("{usb_port}")",
                             .non_empty = true}),
    KeyFor<&MatchDraft::type>({.name = "type",
                               .default_value = R"("device")",
                               .meaning = "the required file type: a character or block device, a "
                                          "regular file, a directory, or any type",
                               .choices = kNodeTypeNames,
                               .needs = kFindsPaths}),
    KeyFor<&MatchDraft::group_by>(
        {.name = "group_by",
         .meaning = "the name of a variable; nodes with the same value are one device",
         .example = R"("card")",
         .pattern = kVariablePattern}),
    KeyFor<&MatchDraft::together>(
        {.name = "together",
         .default_value = "false",
         .meaning = "whether all nodes of the match are one device, which needs a node for each "
                    "pattern of path",
         .needs = kPath,
         .excludes = kGroupBy}),
    KeyFor<&MatchDraft::require>({.name = "require",
                                  .meaning = "globs; a device must have a node for each of them",
                                  .example = R"("/dev/dri/renderD*")",
                                  .pattern = kGlobPattern}),
    KeyFor<&MatchDraft::max_devices>(
        {.name = "max_devices",
         .meaning = "maximum number of devices of the match; default: no limit",
         .range = {1, 100'000},
         .example = "1"}),
    KeyFor<&MatchDraft::device_nodes>(
        {.name = "device_node",
         .table = DeviceNodeDraft::kSection,
         .meaning = "a device node for containers with a device of this match, instead of those of "
                    "the resource"}),
};

/// The conditions that can be negated, as in the match itself.
constexpr Key<ConditionsDraft> kConditionKeys[] = {
    KeyFor<&ConditionsDraft::usb>(
        {.name = "usb",
         .meaning = "USB IDs \"vendor:product\" in hexadecimal; * matches any",
         .example = R"("0403:6001")",
         .pattern = kDeviceNumbersPattern,
         .non_empty = true}),
    KeyFor<&ConditionsDraft::serial>({.name = "serial",
                                      .meaning = "with usb: patterns for the serial number",
                                      .example = R"("A9*")",
                                      .non_empty = true,
                                      .needs = kUsb}),
    KeyFor<&ConditionsDraft::usb_port>({.name = "usb_port",
                                        .meaning = "patterns for the USB port",
                                        .example = R"("1-2.*")",
                                        .non_empty = true}),
    KeyFor<&ConditionsDraft::pci>(
        {.name = "pci",
         .meaning = "PCI IDs \"vendor:device\" in hexadecimal; * matches any",
         .example = R"("10ee:*")",
         .pattern = kDeviceNumbersPattern,
         .non_empty = true}),
    KeyFor<&ConditionsDraft::pci_address>({.name = "pci_address",
                                           .meaning = "patterns for the PCI address",
                                           .example = R"("0000:3b:*")",
                                           .non_empty = true}),
    KeyFor<&ConditionsDraft::udev>({.name = "udev",
                                    .table = UdevDraft::kSection,
                                    .meaning = "properties of a device as in udev rules",
                                    .example = R"({"subsystem": "tty"})",
                                    .non_empty = true}),
};

constexpr Key<UdevDraft> kUdevKeys[] = {
    KeyFor<&UdevDraft::subsystem>({.name = "subsystem",
                                   .meaning = "patterns for the subsystem of the device",
                                   .example = R"("tty")"}),
    KeyFor<&UdevDraft::driver>(
        {.name = "driver",
         .meaning = "patterns for the driver of the device or of one of its ancestors",
         .example = R"("ftdi_sio")"}),
    KeyFor<&UdevDraft::properties>({.name = "properties",
                                    .meaning = "patterns for udev properties of the device",
                                    .example = R"({"ID_VENDOR_ID": "0403"})"}),
    KeyFor<&UdevDraft::attributes>(
        {.name = "attributes",
         .meaning = "patterns for sysfs attributes, all of the device or of the same ancestor",
         .example = R"({"idProduct": "60*"})",
         .key_pattern = kAttributePattern}),
};

}  // namespace

template <>
std::span<const Key<MatchDraft>> KeysOf() {
  return kMatchKeys;
}
template <>
std::span<const Key<ConditionsDraft>> KeysOf() {
  return kConditionKeys;
}
template <>
std::span<const Key<UdevDraft>> KeysOf() {
  return kUdevKeys;
}

}  // namespace patchbay
