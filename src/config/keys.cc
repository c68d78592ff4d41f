// The table of keys, with one row for each: section, name, type, meaning, and what else applies to
// it. tests/unit/config/docs_test.cc writes the tables of docs/configuration.md and
// patchbay.toml(5) from it.

#include "config/keys.h"

#include <algorithm>

#include "base/format.h"
#include "base/log.h"
#include "config/duration.h"
#include "config/reporter.h"
#include "model/spec.h"

namespace patchbay {
namespace {

using enum ValueType;

/// Milliseconds, for ranges of durations.
constexpr std::int64_t kSecond = 1'000;
constexpr std::int64_t kDay = 24 * 3'600 * kSecond;

constexpr std::string_view kPreferences[] = {"none", "packed", "spread"};  // as in Preference
constexpr std::string_view kHealths[] = {"healthy", "unhealthy"};          // as in Health

constexpr std::string_view kNotWithCommand = "usb pci usb_port pci_address udev not";
constexpr std::string_view kNotWithCount =
    "usb pci usb_port pci_address udev not exclude exclude_required allow_mounted type group_by "
    "together require max_devices";

constexpr std::string_view kOneCredential =
    "set both keys of the client certificate, or only token_file";
constexpr std::string_view kAnyUsb =
    "add usb = \"*:*\" to match any device with that serial number";
constexpr std::string_view kOnlyDeviceNodes = "its nodes are always device nodes; remove the key";
constexpr std::string_view kTotalTime =
    "the program is stopped after this time, in total for all devices of the container";

/// Returns a row of the table. `more` has the members that not every key has.
constexpr KeyInfo Key(std::string_view section, std::string_view name, ValueType type,
                      std::string_view meaning, KeyInfo more = {}) {
  more.section = section;
  more.name = name;
  more.type = type;
  more.meaning = meaning;
  return more;
}

constexpr KeyInfo HookCommand(std::string_view section, std::string_view example) {
  return Key(section, "command", kTemplates,
             "a program and its arguments, run without a shell, once for each device",
             {.required = true, .example = example, .non_empty = true});
}

/// Names of keys that are also plausible names of attributes, in sysfs or in a ResourceSlice, and
/// of the latter only. The tables of environment variables, udev properties and annotations need no
/// such list: their names are in upper case, or have a domain.
constexpr std::string_view kNamesOfAttributes[] = {
    "command", "count",  "description", "driver", "health",    "id",      "name",
    "path",    "period", "serial",      "server", "subsystem", "timeout", "type"};
constexpr std::string_view kNamesInSlices[] = {"pci", "pci_address", "usb", "usb_port"};

constexpr KeyInfo kKeys[] = {
    Key("", "daemon", kTable, "settings of the daemon", {.table = "daemon"}),
    Key("", "resource", kTables, "an extended resource and its devices; can be repeated",
        {.table = "resource"}),

    Key("daemon", "listen", kString,
        "address and port of the HTTP server for the status page, metrics and health checks",
        {.default_value = R"("[::]:9478")"}),
    Key("daemon", "hosts", kStringOrStrings,
        "names accepted in the Host header, in addition to IP addresses, localhost and the node's "
        "name; * matches any text",
        {.default_value = R"(["*.svc", "*.svc.cluster.local"])",
         .example = R"("patchbay.example.com")"}),
    Key("daemon", "kubelet_dir", kString, "the kubelet's device plugin directory, at most 50 bytes",
        {.default_value = R"("/var/lib/kubelet/device-plugins")"}),
    Key("daemon", "host_root", kString,
        "the directory where the host's root file system is mounted; /dev and /sys are read below "
        "it",
        {.default_value = R"("/")"}),
    Key("daemon", "cdi_dir", kString,
        "the directory for CDI files, which the container runtime reads",
        {.default_value = R"("/var/run/cdi")"}),
    Key("daemon", "pod_resources", kString,
        "the kubelet's PodResources socket, which reports the devices in use by pods; \"\" "
        "disables it",
        {.default_value = R"("/var/lib/kubelet/pod-resources/kubelet.sock")"}),
    Key("daemon", "rescan", kDuration, "interval between full scans, in case an event was missed",
        {.default_value = R"("60s")", .range = {kSecond, kDay}}),
    Key("daemon", "max_probes", kInteger,
        "maximum number of health probes that run at the same time",
        {.default_value = "8", .range = {1, 256}}),
    Key("daemon", "device_metrics", kBoolean, "whether metrics have series for each device",
        {.default_value = "true"}),
    Key("daemon", "suggest_page", kBoolean,
        "whether the status page, which needs no login, also shows the devices that no resource "
        "has",
        {.default_value = "false"}),
    Key("daemon", "log_level", kChoice, "minimum log level",
        {.default_value = R"("info")", .choices = kLogLevelNames}),
    Key("daemon", "api", kChoice,
        "the API that serves resources without a key of this name: that of device plugins, or "
        "Dynamic Resource Allocation",
        {.default_value = R"("device-plugin")", .choices = kApiNames}),
    Key("daemon", "dra", kTable, "settings of Dynamic Resource Allocation",
        {.table = "daemon.dra"}),
    Key("daemon", "kubernetes", kTable,
        "the API server, for Dynamic Resource Allocation on a node without a pod; default: that of "
        "the pod's service account",
        {.table = "daemon.kubernetes"}),

    Key("daemon.dra", "driver", kString,
        "the name of the driver in ResourceSlices and claims, at most 47 bytes",
        {.default_value = R"("patchbay.dev")"}),
    Key("daemon.dra", "device_metadata", kBoolean,
        "containers get a file with the attributes of the devices of each request (KEP-5304)",
        {.default_value = "true"}),

    Key("daemon.kubernetes", "server", kString, "the address of the API server",
        {.required = true, .example = R"("https://10.0.0.1:6443")", .non_empty = true}),
    Key("daemon.kubernetes", "ca", kString,
        "a file with the certificates that verify the API server",
        {.required = true, .example = R"("/etc/kubernetes/pki/ca.crt")", .non_empty = true}),
    Key("daemon.kubernetes", "token_file", kString,
        "a file with a token, which is read again when it changes",
        {.example = R"("/etc/patchbay/token")", .non_empty = true, .alternative_group = 2}),
    Key("daemon.kubernetes", "client_certificate", kString,
        "a file with a client certificate, instead of a token",
        {.example = R"("/etc/patchbay/client.crt")",
         .non_empty = true,
         .alternative_group = 1,
         .needs = "client_key",
         .excludes = "token_file",
         .hint = kOneCredential}),
    Key("daemon.kubernetes", "client_key", kString,
        "a file with the private key of the client certificate",
        {.example = R"("/etc/patchbay/client.key")",
         .non_empty = true,
         .needs = "client_certificate",
         .hint = kOneCredential}),

    Key("resource", "name", kString,
        "the name that pods request: a domain, a slash and a name, as in example.com/serial",
        {.required = true, .example = R"("example.com/serial")"}),
    Key("resource", "description", kString, "human-readable description",
        {.default_value = R"("")", .example = R"("serial ports of the lab")"}),
    Key("resource", "api", kChoice,
        "the API that serves the resource: that of device plugins, or Dynamic Resource Allocation; "
        "default: `api` of [daemon]",
        {.choices = kApiNames}),
    Key("resource", "replicas", kInteger, "number of times each device is advertised",
        {.default_value = "1", .range = {1, 10'000}}),
    Key("resource", "max_per_container", kInteger,
        "maximum number of devices that one container can request; 0 is no limit",
        {.default_value = "0", .range = {0, 1'000'000}}),
    Key("resource", "preferred_allocation", kChoice,
        "which devices to prefer: packed on few NUMA nodes, or spread over distinct devices",
        {.default_value = R"("none")", .choices = kPreferences}),
    Key("resource", "topology", kBoolean,
        "whether NUMA nodes are reported to the kubelet; default: true unless replicas is above 1"),
    Key("resource", "exclusive", kBoolean,
        "whether the nodes of this resource are unavailable to other resources",
        {.default_value = "false"}),
    Key("resource", "grant_group", kBoolean,
        "whether processes of the container are in the groups that own its device nodes, so that "
        "they need not run as root",
        {.default_value = "false"}),
    Key("resource", "forget_after", kDuration,
        "how long a missing device stays listed as Unhealthy",
        {.default_value = R"("10m")", .range = {1, 365 * kDay}}),
    Key("resource", "on_unhealthy", kChoice,
        "with Dynamic Resource Allocation: whether an unhealthy device gets no new pods, or its "
        "pods are evicted too",
        {.default_value = R"("no-schedule")", .choices = kOnUnhealthyNames}),
    Key("resource", "claim_env", kStrings,
        "with Dynamic Resource Allocation: beginnings of the names of environment variables that "
        "parameters of claims may set; default: none",
        {.example = R"(["BAUD_"])", .non_empty = true}),
    Key("resource", "env_separator", kString,
        "separator between the values of several devices in one environment variable",
        {.default_value = R"(",")"}),
    Key("resource", "on_nodes", kStrings,
        "globs of names of Kubernetes nodes that serve the resource; one that begins with ! "
        "excludes nodes; default: all nodes",
        {.example = R"(["rack-*", "!rack-7"])", .non_empty = true}),
    Key("resource", "cdi_devices", kTemplates,
        "CDI device names for the container: vendor/class=name",
        {.example = R"(["vendor.com/class={name}"])"}),
    Key("resource", "match", kTables, "a rule that finds devices; can be repeated",
        {.table = "resource.match", .required = true, .non_empty = true}),
    Key("resource", "device_node", kTables,
        "a device node for the container; default: every node, same path, \"rw\"",
        {.table = "resource.device_node"}),
    Key("resource", "mount", kTables, "a file or directory of the host to mount into the container",
        {.table = "resource.mount"}),
    Key("resource", "net_device", kTables,
        "the network interface of a device moves into the container, at most once",
        {.table = "resource.net_device"}),
    Key("resource", "env", kTemplateTable, "environment variables of the container",
        {.example = R"({"SERIAL_PORTS": "{path}"})"}),
    Key("resource", "annotations", kTemplateTable, "annotations for the container runtime",
        {.example = R"({"example.com/port": "{name}"})"}),
    Key("resource", "attributes", kAttributeTable,
        "with Dynamic Resource Allocation: attributes of each device, by which claims select it; a "
        "value is a string, or a table with the key string, int, bool or version",
        {.example = R"({"port": "{usb_port}"})"}),
    Key("resource", "capacity", kCapacityTable,
        "with Dynamic Resource Allocation: quantities of each device, such as its memory, by which "
        "claims select it, and which they share with replicas; a value is a quantity, or a table "
        "with the keys value, default, max and step",
        {.example = R"({"memory": "16Gi"})"}),
    Key("resource", "health", kTable,
        "a health probe for each device; default: a device is Healthy while it exists",
        {.table = "resource.health"}),
    Key("resource", "hooks", kTable, "programs that run before and after containers use devices",
        {.table = "resource.hooks", .non_empty = true}),

    Key("resource.match", "path", kStringOrStrings,
        "source: one or more globs; devices are the paths that match",
        {.example = R"("/dev/ttyUSB*")", .non_empty = true, .alternative_group = 1}),
    Key("resource.match", "regex", kString,
        "source: an RE2 regular expression for the whole path; named groups are variables",
        {.example = R"_("/dev/ttyUSB(?P<port>[0-9]+)")_", .alternative_group = 1}),
    Key("resource.match", "usb", kStringOrStrings,
        "source or condition: USB IDs \"vendor:product\" in hexadecimal, * or {a,b}",
        {.example = R"("0403:6001")",
         .non_empty = true,
         .alternative_group = 2,
         .excludes = "type",
         .hint = kOnlyDeviceNodes}),
    Key("resource.match", "serial", kStringOrStrings, "with usb: patterns for the serial number",
        {.example = R"("A9*")", .non_empty = true, .needs = "usb", .hint = kAnyUsb}),
    Key("resource.match", "usb_port", kStringOrStrings,
        "condition: patterns for the USB port, as in {usb_port}",
        {.example = R"("1-2.*")",
         .non_empty = true,
         .hint = "usb_port is a condition: add usb = \"*:*\" to find every device on these ports"}),
    Key("resource.match", "pci", kStringOrStrings,
        "source or condition: PCI IDs \"vendor:device\" in hexadecimal, * or {a,b}",
        {.example = R"("10ee:*")",
         .non_empty = true,
         .alternative_group = 2,
         .excludes = "type",
         .hint = kOnlyDeviceNodes}),
    Key("resource.match", "pci_address", kStringOrStrings,
        "condition: patterns for the PCI address, as in {pci_address}",
        {.example = R"("0000:3b:*")",
         .non_empty = true,
         .hint = "pci_address is a condition: add pci = \"*:*\" to find every function with these "
                 "addresses"}),
    Key("resource.match", "udev", kTable,
        "source or condition: properties of a device as in udev rules",
        {.table = "resource.match.udev",
         .example = R"({"subsystem": "tty"})",
         .non_empty = true,
         .alternative_group = 3,
         .alternative_requires = "subsystem",
         .excludes = "type",
         .hint = kOnlyDeviceNodes}),
    Key("resource.match", "not", kTable,
        "devices that meet its conditions of usb, of pci or of udev are excluded",
        {.table = "resource.match.not", .example = R"({"usb_port": "1-2"})", .non_empty = true}),
    Key("resource.match", "command", kStrings,
        "source: a program and its arguments, run without a shell; devices are its output",
        {.example = R"(["/usr/local/bin/list-ports", "--json"])",
         .non_empty = true,
         .alternative_group = 1,
         .excludes = kNotWithCommand,
         .hint = "the command determines the devices; remove the key"}),
    Key("resource.match", "timeout", kDuration,
        "with command: the program is killed after this time",
        {.default_value = R"("10s")",
         .range = {100, 300 * kSecond},
         .needs = "command",
         .hint = "remove the key"}),
    Key("resource.match", "count", kInteger,
        "source: the number of devices, which have no node on the host",
        {.range = {1, 10'000},
         .example = "8",
         .alternative_group = 1,
         .excludes = kNotWithCount,
         .hint = "devices of a \"count\" have no path and are numbered; remove the key"}),
    Key("resource.match", "exclude", kStringOrStrings,
        "globs of nodes, or of links to nodes, that are excluded",
        {.example = R"("/dev/ttyUSB9*")"}),
    Key("resource.match", "exclude_required", kBoolean,
        "no device is advertised while a glob of exclude excludes nothing",
        {.default_value = "false",
         .example = "true",
         .needs = "exclude",
         .hint = "remove the key"}),
    Key("resource.match", "allow_mounted", kBoolean,
        "disks that the host uses are advertised; no hook runs for them",
        {.default_value = "false", .example = "true"}),
    Key("resource.match", "id", kTemplate, "the ID of a device; default: derived from its path",
        {.example = R"("{usb_port}")", .non_empty = true}),
    Key("resource.match", "type", kChoice,
        "the required file type: a character or block device, a regular file, a directory, or any "
        "type",
        {.default_value = R"("device")", .choices = kNodeTypeNames}),
    Key("resource.match", "group_by", kString,
        "the name of a variable; nodes with the same value are one device",
        {.example = R"("card")",
         .excludes = "together",
         .hint = "keep group_by for one device per value, or together for one device"}),
    Key("resource.match", "together", kBoolean,
        "whether all nodes of the match are one device, which needs a node for each pattern of "
        "path",
        {.default_value = "false",
         .needs = "path",
         .hint = "list the nodes of the device: path = [\"/dev/kvm\", \"/dev/net/tun\"]"}),
    Key("resource.match", "require", kStringOrStrings,
        "globs; a device must have a node for each of them", {.example = R"("/dev/dri/renderD*")"}),
    Key("resource.match", "max_devices", kInteger,
        "maximum number of devices of the match; default: no limit",
        {.range = {1, 100'000}, .example = "1"}),
    Key("resource.match", "device_node", kTables,
        "a device node for containers with a device of this match, instead of those of the "
        "resource",
        {.table = "resource.device_node"}),

    Key("resource.match.not", "usb", kStringOrStrings,
        "USB IDs \"vendor:product\" in hexadecimal, * or {a,b}",
        {.example = R"("0403:6001")", .non_empty = true}),
    Key("resource.match.not", "serial", kStringOrStrings,
        "with usb: patterns for the serial number",
        {.example = R"("A9*")", .non_empty = true, .needs = "usb", .hint = kAnyUsb}),
    Key("resource.match.not", "usb_port", kStringOrStrings, "patterns for the USB port",
        {.example = R"("1-2.*")", .non_empty = true}),
    Key("resource.match.not", "pci", kStringOrStrings,
        "PCI IDs \"vendor:device\" in hexadecimal, * or {a,b}",
        {.example = R"("10ee:*")", .non_empty = true}),
    Key("resource.match.not", "pci_address", kStringOrStrings, "patterns for the PCI address",
        {.example = R"("0000:3b:*")", .non_empty = true}),
    Key("resource.match.not", "udev", kTable, "properties of a device as in udev rules",
        {.table = "resource.match.udev", .example = R"({"subsystem": "tty"})", .non_empty = true}),

    Key("resource.match.udev", "subsystem", kStringOrStrings,
        "patterns for the subsystem of the device", {.example = R"("tty")", .non_empty = true}),
    Key("resource.match.udev", "driver", kStringOrStrings,
        "patterns for the driver of the device or of one of its ancestors",
        {.example = R"("ftdi_sio")", .non_empty = true}),
    Key("resource.match.udev", "properties", kPatternTable,
        "patterns for udev properties of the device",
        {.example = R"({"ID_VENDOR_ID": "0403"})", .non_empty = true}),
    Key("resource.match.udev", "attributes", kPatternTable,
        "patterns for sysfs attributes, all of the device or of the same ancestor",
        {.example = R"({"idProduct": "60*"})", .non_empty = true}),

    Key("resource.device_node", "host_path", kTemplate,
        "path of the node on the host; default: every node of the device",
        {.example = R"("/dev/dri/renderD{card}")"}),
    Key("resource.device_node", "container_path", kTemplate,
        "path of the node in the container; default: host_path, or the path that matched",
        {.example = R"("/dev/serial{slot}")"}),
    Key("resource.device_node", "permissions", kString,
        "permissions of the container: r (read), w (write), m (mknod)",
        {.default_value = R"("rw")"}),
    Key("resource.device_node", "optional", kBoolean,
        "whether the node is omitted, instead of an error, if the host does not have it",
        {.default_value = "false"}),

    Key("resource.mount", "host_path", kTemplate, "path on the host",
        {.required = true, .example = R"("/opt/tools")"}),
    Key("resource.mount", "container_path", kTemplate, "path in the container; default: host_path",
        {.example = R"("/opt/tools")"}),
    Key("resource.mount", "read_only", kBoolean, "whether the mount is read-only",
        {.default_value = "true"}),
    Key("resource.mount", "optional", kBoolean,
        "whether the mount is left out if the host does not have host_path",
        {.default_value = "false"}),

    Key("resource.net_device", "name", kTemplate,
        "name of the interface in the container; default: as on the host",
        {.example = R"("can{slot}")", .non_empty = true}),
    Key("resource.net_device", "up", kBoolean, "whether the interface is set up",
        {.default_value = "true"}),
    Key("resource.net_device", "mtu", kInteger, "MTU of the interface; default: as on the host",
        {.range = {68, 65'535}, .example = "9000"}),
    Key("resource.net_device", "addresses", kTemplates,
        "IP addresses with the length of their prefix",
        {.example = R"(["192.0.2.{slot}/24"])", .non_empty = true}),

    Key("resource.health", "command", kTemplates,
        "a program and its arguments, run without a shell; exit code 0 means healthy",
        {.example = R"(["/usr/local/bin/card-ok", "{path}"])",
         .non_empty = true,
         .alternative_group = 1}),
    Key("resource.health", "open", kBoolean,
        "true: healthy if each node of the device can be opened",
        {.example = "true", .alternative_group = 1}),
    Key("resource.health", "file", kTemplate,
        "a file of the host, for example in /sys; healthy if it has the expected content",
        {.example = R"("/sys/class/net/{INTERFACE}/operstate")",
         .alternative_group = 1,
         .needs = "equals matches",
         .hint = "equals = \"up\", or matches = 'up|unknown'"}),
    Key("resource.health", "equals", kString, "with file: the expected content",
        {.example = R"("up")", .needs = "file", .hint = "add the file to read"}),
    Key("resource.health", "matches", kString, "with file: an RE2 expression for the whole content",
        {.example = R"("up|unknown")", .needs = "file", .hint = "add the file to read"}),
    Key("resource.health", "period", kDuration, "interval between probes, with a jitter of 10 %",
        {.default_value = R"("30s")", .range = {100, kDay}}),
    Key("resource.health", "timeout", kDuration, "a probe that takes longer fails",
        {.default_value = R"("5s")", .range = {10, 300 * kSecond}}),
    Key("resource.health", "initial_delay", kDuration,
        "delay before the first probe of a new device",
        {.default_value = R"("0s")", .range = {0, kDay}}),
    Key("resource.health", "failure_threshold", kInteger,
        "consecutive failures before a device is marked Unhealthy",
        {.default_value = "3", .range = {1, 1000}}),
    Key("resource.health", "success_threshold", kInteger,
        "consecutive successes before a device is marked Healthy again",
        {.default_value = "1", .range = {1, 1000}}),
    Key("resource.health", "before_first", kChoice,
        "the health that is reported until a threshold is reached",
        {.default_value = R"("healthy")", .choices = kHealths}),

    Key("resource.hooks", "pre_start", kTable, "runs before each start of a container; can be slow",
        {.table = "resource.hooks.pre_start"}),
    Key("resource.hooks", "allocate", kTable,
        "runs while the kubelet admits the pod; must be quick",
        {.table = "resource.hooks.allocate"}),
    Key("resource.hooks", "release", kTable, "runs when no pod uses the device any more",
        {.table = "resource.hooks.release"}),

    HookCommand("resource.hooks.pre_start", R"(["/usr/local/bin/card-reset", "{path}"])"),
    Key("resource.hooks.pre_start", "timeout", kDuration, kTotalTime,
        {.default_value = R"("20s")", .range = {10, kMaxPreStart.count() * kSecond}}),

    HookCommand("resource.hooks.allocate", R"(["/usr/local/bin/card-claim", "{id}"])"),
    Key("resource.hooks.allocate", "timeout", kDuration, kTotalTime,
        {.default_value = R"("5s")", .range = {10, 60 * kSecond}}),

    HookCommand("resource.hooks.release", R"(["/usr/local/bin/card-wipe", "{path}"])"),
    Key("resource.hooks.release", "timeout", kDuration, "the program is stopped after this time",
        {.default_value = R"("60s")", .range = {10, 3'600 * kSecond}}),
};

}  // namespace

std::span<const KeyInfo> AllKeys() { return kKeys; }

std::span<const KeyInfo> KeysOf(std::string_view section) {
  const auto is_of_section = [&](const KeyInfo& key) { return key.section == section; };
  const auto* first = std::ranges::find_if(kKeys, is_of_section);
  return {first, std::find_if_not(first, std::end(kKeys), is_of_section)};
}

std::vector<std::string_view> Words(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    words.push_back(list.substr(0, list.find(' ')));
    list.remove_prefix(std::min(words.back().size() + 1, list.size()));
  }
  return words;
}

const KeyInfo* FindKey(std::span<const KeyInfo> keys, std::string_view name) {
  const auto found = std::ranges::find(keys, name, &KeyInfo::name);
  return found == keys.end() ? nullptr : &*found;
}

bool IsMisplaced(const KeyInfo& table, std::string_view name) {
  if (FindKey(KeysOf(table.section), name)) return true;
  const bool is_allowed =
      std::ranges::count(kNamesOfAttributes, name) > 0
          ? table.name == "attributes"
          : table.type == kAttributeTable && std::ranges::count(kNamesInSlices, name) > 0;
  return !is_allowed && FindKey(kKeys, name);
}

std::string_view Name(ValueType type) {
  switch (type) {
    case ValueType::kString: return "string";
    case ValueType::kTemplate: return "template";
    case ValueType::kStringOrStrings: return "string or list of strings";
    case ValueType::kStrings: return "list of strings";
    case ValueType::kTemplates: return "list of templates";
    case ValueType::kChoice: return "word";
    case ValueType::kInteger: return "whole number";
    case ValueType::kBoolean: return "boolean";
    case ValueType::kDuration: return "duration";
    case ValueType::kTemplateTable: return "table of templates";
    case ValueType::kPatternTable: return "table of patterns";
    case ValueType::kAttributeTable: return "table of attributes";
    case ValueType::kCapacityTable: return "table of quantities";
    case ValueType::kTable: return "table";
    case ValueType::kTables: return "list of tables";
  }
  return "";
}

std::string NumberText(const KeyInfo& key, std::int64_t number) {
  return key.type == kDuration ? FormatDuration(std::chrono::milliseconds(number))
                               : std::to_string(number);
}

std::string TypeText(const KeyInfo& key) {
  if (!key.choices.empty()) return OneOf(key.choices);
  std::string text(Name(key.type));
  if (key.range.max != Range().max) {
    text += Format(", {} to {}", NumberText(key, key.range.min), NumberText(key, key.range.max));
  }
  return text;
}

std::string SectionTitle(const KeyInfo& table) {
  if (table.name.empty()) return "the top level";
  const bool is_list = table.type == ValueType::kTables;
  return Format("{}{}{}{}{}", is_list ? "[[" : "[", table.section, table.section.empty() ? "" : ".",
                table.name, is_list ? "]]" : "]");
}

std::string SectionTitle(std::string_view section) {
  return SectionTitle(section.empty() ? KeyInfo()
                                      : *std::ranges::find(kKeys, section, &KeyInfo::table));
}

}  // namespace patchbay
