#include "config/keys.h"

#include <array>

#include "base/format.h"
#include "config/bind.h"
#include "model/spec.h"

namespace patchbay {
namespace {

constexpr std::int64_t kSecond = 1'000;
constexpr std::int64_t kDay = 24 * 3'600 * kSecond;

constexpr Key<DocumentDraft> kDocumentKeys[] = {
    KeyFor<&DocumentDraft::daemon>({.name = "daemon", .meaning = "the daemon itself"}),
    KeyFor<&DocumentDraft::resources>(
        {.name = "resource", .meaning = "an extended resource and its devices; any number"}),
};

constexpr Key<DaemonDraft> kDaemonKeys[] = {
    KeyFor<&DaemonDraft::listen>(
        {.name = "listen",
         .fallback = R"("[::]:9478")",
         .meaning = "address and port of the HTTP server: metrics and health"}),
    KeyFor<&DaemonDraft::kubelet_dir>(
        {.name = "kubelet_dir",
         .fallback = R"("/var/lib/kubelet/device-plugins")",
         .meaning = "the kubelet's device-plugin directory, at most 50 bytes"}),
    KeyFor<&DaemonDraft::host_root>(
        {.name = "host_root",
         .fallback = R"("/")",
         .meaning = "the directory where the host's /dev and /sys are seen from here"}),
    KeyFor<&DaemonDraft::pod_resources>(
        {.name = "pod_resources",
         .fallback = R"("/var/lib/kubelet/pod-resources/kubelet.sock")",
         .meaning = "the kubelet's socket that tells which pods hold what; \"\" to not ask"}),
    KeyFor<&DaemonDraft::rescan>(
        {.name = "rescan",
         .fallback = R"("60s")",
         .meaning = "how often all devices are looked for again; a safety net behind file watching",
         .range = {kSecond, kDay}}),
    KeyFor<&DaemonDraft::max_probes>({.name = "max_probes",
                                      .fallback = "8",
                                      .meaning = "how many health probes run at once",
                                      .range = {1, 256}}),
    KeyFor<&DaemonDraft::device_metrics>(
        {.name = "device_metrics",
         .fallback = "true",
         .meaning = "whether metrics have series for single devices"}),
    KeyFor<&DaemonDraft::log_level>({.name = "log_level",
                                     .fallback = R"("info")",
                                     .meaning = "the least severe lines that are logged",
                                     .choices = kLogLevelNames}),
};

constexpr Key<ResourceDraft> kResourceKeys[] = {
    KeyFor<&ResourceDraft::name>(
        {.name = "name",
         .meaning = "what pods ask for: a domain, a slash and a name, as in example.com/serial",
         .required = true}),
    KeyFor<&ResourceDraft::description>(
        {.name = "description", .fallback = R"("")", .meaning = "a note for people"}),
    KeyFor<&ResourceDraft::replicas>({.name = "replicas",
                                      .fallback = "1",
                                      .meaning = "how many times every device is advertised",
                                      .range = {1, 10'000}}),
    KeyFor<&ResourceDraft::max_per_container>(
        {.name = "max_per_container",
         .fallback = "0",
         .meaning = "a container that asks for more is refused; 0 is no limit",
         .range = {0, 1'000'000}}),
    KeyFor<&ResourceDraft::preferred_allocation>(
        {.name = "preferred_allocation",
         .fallback = R"("none")",
         .meaning = "which devices a container had best get: packed on few NUMA nodes, or spread "
                    "over distinct devices",
         .choices = kPreferences}),
    KeyFor<&ResourceDraft::topology>(
        {.name = "topology",
         .meaning =
             "whether the kubelet is told of NUMA nodes; absent: unless replicas is above 1"}),
    KeyFor<&ResourceDraft::exclusive>(
        {.name = "exclusive",
         .fallback = "false",
         .meaning = "whether other resources are refused the nodes that this one has"}),
    KeyFor<&ResourceDraft::forget_after>(
        {.name = "forget_after",
         .fallback = R"("10m")",
         .meaning = "how long a vanished device stays listed as Unhealthy",
         .range = {1, 365 * kDay}}),
    KeyFor<&ResourceDraft::env_separator>(
        {.name = "env_separator",
         .fallback = R"(",")",
         .meaning = "what stands between the values of several devices in one variable"}),
    KeyFor<&ResourceDraft::on_nodes>(
        {.name = "on_nodes",
         .meaning = "only on Kubernetes nodes whose name matches one of these; absent: on all"}),
    KeyFor<&ResourceDraft::cdi_devices>(
        {.name = "cdi_devices",
         .meaning = "names of CDI devices for the container, vendor/class=name"}),
    KeyFor<&ResourceDraft::matches>(
        {.name = "match", .meaning = "a rule that finds devices; one or more", .required = true}),
    KeyFor<&ResourceDraft::device_nodes>(
        {.name = "device_node",
         .meaning = "a device node for the container; absent: every node, same path, \"rw\""}),
    KeyFor<&ResourceDraft::mounts>(
        {.name = "mount", .meaning = "a file or directory of the host for the container"}),
    KeyFor<&ResourceDraft::env>({.name = "env", .meaning = "environment variables"}),
    KeyFor<&ResourceDraft::annotations>(
        {.name = "annotations", .meaning = "annotations for the container runtime"}),
    KeyFor<&ResourceDraft::health>(
        {.name = "health", .meaning = "how a device shows that it works; absent: by being there"}),
    KeyFor<&ResourceDraft::hooks>(
        {.name = "hooks", .meaning = "programs that run around the life of a container"}),
};

constexpr Key<MatchDraft> kMatchKeys[] = {
    KeyFor<&MatchDraft::path>(
        {.name = "path", .meaning = "source: one or more globs; devices are the paths that match"}),
    KeyFor<&MatchDraft::regex>(
        {.name = "regex",
         .meaning = "source: an RE2 expression for the whole path; named groups are variables"}),
    KeyFor<&MatchDraft::usb>(
        {.name = "usb",
         .meaning =
             "source or condition: a USB device, \"vendor:product\" in hexadecimal, * for any"}),
    KeyFor<&MatchDraft::serial>(
        {.name = "serial", .meaning = "with usb: a pattern for the serial number"}),
    KeyFor<&MatchDraft::pci>(
        {.name = "pci",
         .meaning =
             "source or condition: a PCI device, \"vendor:device\" in hexadecimal, * for any"}),
    KeyFor<&MatchDraft::udev>(
        {.name = "udev", .meaning = "source or condition: a device as udev rules know it"}),
    KeyFor<&MatchDraft::command>(
        {.name = "command",
         .meaning = "source: a program and its arguments, no shell; devices are what it prints"}),
    KeyFor<&MatchDraft::timeout>({.name = "timeout",
                                  .fallback = R"("10s")",
                                  .meaning = "with command: when it is killed",
                                  .range = {100, 300 * kSecond}}),
    KeyFor<&MatchDraft::count>({.name = "count",
                                .meaning = "source: so many devices without a host node",
                                .range = {1, 10'000}}),
    KeyFor<&MatchDraft::exclude>(
        {.name = "exclude", .meaning = "globs of paths that are left out"}),
    KeyFor<&MatchDraft::id>(
        {.name = "id", .meaning = "the ID of a device; absent: from its path, see IDs"}),
    KeyFor<&MatchDraft::type>({.name = "type",
                               .fallback = R"("device")",
                               .meaning = "what a path must lead to: a character or block device, "
                                          "a regular file, a directory, or anything",
                               .choices = kNodeTypeNames}),
    KeyFor<&MatchDraft::group_by>(
        {.name = "group_by",
         .meaning = "a variable; nodes with the same value of it are one device"}),
    KeyFor<&MatchDraft::require>(
        {.name = "require",
         .meaning = "globs; a device that has no node for one of them is left out"}),
};

constexpr Key<UdevDraft> kUdevKeys[] = {
    KeyFor<&UdevDraft::subsystem>(
        {.name = "subsystem", .meaning = "patterns for the subsystem of the device"}),
    KeyFor<&UdevDraft::driver>(
        {.name = "driver", .meaning = "patterns for a driver of the device or of one it sits on"}),
    KeyFor<&UdevDraft::properties>(
        {.name = "properties", .meaning = "patterns for udev properties of the device"}),
    KeyFor<&UdevDraft::attributes>(
        {.name = "attributes",
         .meaning = "patterns for sysfs attributes, all of the device or of one it sits on"}),
};

constexpr Key<DeviceNodeDraft> kDeviceNodeKeys[] = {
    KeyFor<&DeviceNodeDraft::host_path>(
        {.name = "host_path", .meaning = "the node on the host; absent: every node of the device"}),
    KeyFor<&DeviceNodeDraft::container_path>(
        {.name = "container_path",
         .meaning = "its path in the container; absent: host_path, or the path as matched"}),
    KeyFor<&DeviceNodeDraft::permissions>(
        {.name = "permissions",
         .fallback = R"("rw")",
         .meaning = "what the container may do: r (read), w (write), m (mknod)"}),
    KeyFor<&DeviceNodeDraft::optional>(
        {.name = "optional",
         .fallback = "false",
         .meaning = "leave the node out where the host has none, instead of failing"}),
};

constexpr Key<MountDraft> kMountKeys[] = {
    KeyFor<&MountDraft::host_path>(
        {.name = "host_path", .meaning = "the path on the host", .required = true}),
    KeyFor<&MountDraft::container_path>(
        {.name = "container_path", .meaning = "the path in the container; absent: host_path"}),
    KeyFor<&MountDraft::read_only>({.name = "read_only",
                                    .fallback = "true",
                                    .meaning = "whether the container may only read"}),
};

constexpr Key<HealthDraft> kHealthKeys[] = {
    KeyFor<&HealthDraft::command>(
        {.name = "command",
         .meaning = "a program and its arguments, no shell; it works if that ends with 0"}),
    KeyFor<&HealthDraft::open>(
        {.name = "open", .meaning = "true: it works if each of its nodes can be opened"}),
    KeyFor<&HealthDraft::file>(
        {.name = "file",
         .meaning = "a file of the host, as in /sys; it works if that holds what is wanted"}),
    KeyFor<&HealthDraft::equals>(
        {.name = "equals", .meaning = "with file: the text that it must hold"}),
    KeyFor<&HealthDraft::matches>(
        {.name = "matches", .meaning = "with file: an RE2 expression for the whole text"}),
    KeyFor<&HealthDraft::period>({.name = "period",
                                  .fallback = R"("30s")",
                                  .meaning = "how often, a tenth more or less",
                                  .range = {100, kDay}}),
    KeyFor<&HealthDraft::timeout>({.name = "timeout",
                                   .fallback = R"("5s")",
                                   .meaning = "a probe that takes longer has failed",
                                   .range = {10, 300 * kSecond}}),
    KeyFor<&HealthDraft::initial_delay>(
        {.name = "initial_delay",
         .fallback = R"("0s")",
         .meaning = "how long a device that appears is left alone at first",
         .range = {0, kDay}}),
    KeyFor<&HealthDraft::failure_threshold>(
        {.name = "failure_threshold",
         .fallback = "3",
         .meaning = "so many failures in a row make a device Unhealthy",
         .range = {1, 1000}}),
    KeyFor<&HealthDraft::success_threshold>(
        {.name = "success_threshold",
         .fallback = "1",
         .meaning = "so many successes in a row make it Healthy again",
         .range = {1, 1000}}),
    KeyFor<&HealthDraft::before_first>({.name = "before_first",
                                        .fallback = R"("healthy")",
                                        .meaning = "what is reported before the thresholds decide",
                                        .choices = kHealths}),
};

constexpr Key<HooksDraft> kHooksKeys[] = {
    KeyFor<&HooksDraft::pre_start>(
        {.name = "pre_start", .meaning = "before every start of a container; may be slow"}),
    KeyFor<&HooksDraft::allocate>(
        {.name = "allocate", .meaning = "while the kubelet admits the pod; must be quick"}),
    KeyFor<&HooksDraft::release>(
        {.name = "release", .meaning = "when no pod holds the device any more"}),
};

template <class D>
constexpr std::array<Key<D>, 2> HookKeys(std::string_view fallback,
                                         std::chrono::milliseconds longest,
                                         std::string_view timeout) {
  return {KeyFor<&D::command>({.name = "command",
                               .meaning = "a program and its arguments, no shell; once for each "
                                          "device",
                               .required = true}),
          KeyFor<&D::timeout>({.name = "timeout",
                               .fallback = fallback,
                               .meaning = timeout,
                               .range = {10, longest.count()}})};
}

constexpr std::string_view kOfAll = "when it is stopped; for all devices of the container together";
constexpr auto kPreStartKeys = HookKeys<PreStartDraft>(R"("20s")", kLongestPreStart, kOfAll);
constexpr auto kAllocateKeys = HookKeys<AllocateDraft>(R"("5s")", std::chrono::minutes(1), kOfAll);
constexpr auto kReleaseKeys =
    HookKeys<ReleaseDraft>(R"("60s")", std::chrono::hours(1), "when it is stopped");

}  // namespace

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
    case ValueType::kTable: return "table";
    case ValueType::kTables: return "list of tables";
  }
  return "";
}

template <>
std::span<const Key<DocumentDraft>> KeysOf() {
  return kDocumentKeys;
}
template <>
std::span<const Key<DaemonDraft>> KeysOf() {
  return kDaemonKeys;
}
template <>
std::span<const Key<ResourceDraft>> KeysOf() {
  return kResourceKeys;
}
template <>
std::span<const Key<MatchDraft>> KeysOf() {
  return kMatchKeys;
}
template <>
std::span<const Key<UdevDraft>> KeysOf() {
  return kUdevKeys;
}
template <>
std::span<const Key<DeviceNodeDraft>> KeysOf() {
  return kDeviceNodeKeys;
}
template <>
std::span<const Key<MountDraft>> KeysOf() {
  return kMountKeys;
}

template <>
std::span<const Key<HealthDraft>> KeysOf() {
  return kHealthKeys;
}
template <>
std::span<const Key<HooksDraft>> KeysOf() {
  return kHooksKeys;
}
template <>
std::span<const Key<PreStartDraft>> KeysOf() {
  return kPreStartKeys;
}
template <>
std::span<const Key<AllocateDraft>> KeysOf() {
  return kAllocateKeys;
}
template <>
std::span<const Key<ReleaseDraft>> KeysOf() {
  return kReleaseKeys;
}

std::vector<KeyInfo> AllKeys() {
  std::vector<KeyInfo> all;
  const auto add = [&](const auto& keys) {
    for (const auto& key : keys) all.push_back(key.info);
  };
  add(kDocumentKeys);
  add(kDaemonKeys);
  add(kResourceKeys);
  add(kMatchKeys);
  add(kUdevKeys);
  add(kDeviceNodeKeys);
  add(kMountKeys);
  add(kHealthKeys);
  add(kHooksKeys);
  add(kPreStartKeys);
  add(kAllocateKeys);
  add(kReleaseKeys);
  return all;
}

std::string SectionTitle(std::string_view section) {
  if (section.empty()) return "the top level";
  const auto dot = section.rfind('.');
  const std::string_view parent = dot == std::string_view::npos ? "" : section.substr(0, dot);
  const std::string_view name = dot == std::string_view::npos ? section : section.substr(dot + 1);
  for (const KeyInfo& key : AllKeys()) {
    if (key.section == parent && key.name == name && key.type == ValueType::kTables) {
      return format("[[{}]]", section);
    }
  }
  return format("[{}]", section);
}

}  // namespace patchbay
