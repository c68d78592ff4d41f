#include "config/keys.h"

#include "base/log.h"
#include "config/decode.h"
#include "config/schema_patterns.h"

namespace patchbay {
namespace {

constexpr Key<DocumentDraft> kDocumentKeys[] = {
    KeyFor<&DocumentDraft::daemon>({.name = "daemon", .meaning = "the daemon itself"}),
    KeyFor<&DocumentDraft::resources>(
        {.name = "resource", .meaning = "an extended resource and its devices; any number"}),
};

constexpr Key<DaemonDraft> kDaemonKeys[] = {
    KeyFor<&DaemonDraft::listen>(
        {.name = "listen",
         .default_value = R"("[::]:9478")",
         .meaning = "address and port of the HTTP server: metrics and health",
         .pattern = kListenPattern}),
    KeyFor<&DaemonDraft::hosts>(
        {.name = "hosts",
         .default_value = R"(["*.svc", "*.svc.cluster.local"])",
         .meaning = "names in the Host header that the HTTP server accepts, besides IP addresses, "
                    "localhost and the node's name; * matches any text",
         .example = R"("patchbay.example.com")",
         .pattern = kHostPattern}),
    KeyFor<&DaemonDraft::kubelet_dir>(
        {.name = "kubelet_dir",
         .default_value = R"("/var/lib/kubelet/device-plugins")",
         .meaning = "the kubelet's device-plugin directory, at most 50 bytes",
         .pattern = kKubeletDirPattern}),
    KeyFor<&DaemonDraft::host_root>(
        {.name = "host_root",
         .default_value = R"("/")",
         .meaning = "the directory where the host's /dev and /sys are seen from here",
         .pattern = kPathPattern}),
    KeyFor<&DaemonDraft::pod_resources>(
        {.name = "pod_resources",
         .default_value = R"("/var/lib/kubelet/pod-resources/kubelet.sock")",
         .meaning = "the kubelet's socket that tells which pods hold what; \"\" to not ask",
         .pattern = kPathOrNothingPattern}),
    KeyFor<&DaemonDraft::spec, &DaemonSpec::rescan>(
        {.name = "rescan",
         .default_value = R"("60s")",
         .meaning = "how often all devices are looked for again; a safety net behind file watching",
         .range = {kSecond, kDay}}),
    KeyFor<&DaemonDraft::spec, &DaemonSpec::max_probes>(
        {.name = "max_probes",
         .default_value = "8",
         .meaning = "how many health probes run at once",
         .range = {1, 256}}),
    KeyFor<&DaemonDraft::spec, &DaemonSpec::device_metrics>(
        {.name = "device_metrics",
         .default_value = "true",
         .meaning = "whether metrics have series for single devices"}),
    KeyFor<&DaemonDraft::spec, &DaemonSpec::log_level>(
        {.name = "log_level",
         .default_value = R"("info")",
         .meaning = "the least severe lines that are logged",
         .choices = kLogLevelNames}),
};

constexpr Key<ResourceDraft> kResourceKeys[] = {
    KeyFor<&ResourceDraft::name>(
        {.name = "name",
         .meaning = "what pods ask for: a domain, a slash and a name, as in example.com/serial",
         .required = true,
         .example = R"("example.com/serial")",
         .pattern = kResourceNamePattern}),
    KeyFor<&ResourceDraft::spec, &ResourceSpec::description>(
        {.name = "description",
         .default_value = R"("")",
         .meaning = "a note for people",
         .example = R"("serial ports of the lab")"}),
    KeyFor<&ResourceDraft::spec, &ResourceSpec::replicas>(
        {.name = "replicas",
         .default_value = "1",
         .meaning = "how many times every device is advertised",
         .range = {1, 10'000}}),
    KeyFor<&ResourceDraft::spec, &ResourceSpec::max_per_container>(
        {.name = "max_per_container",
         .default_value = "0",
         .meaning = "a container that asks for more is refused; 0 is no limit",
         .range = {0, 1'000'000}}),
    KeyFor<&ResourceDraft::spec, &ResourceSpec::preferred_allocation>(
        {.name = "preferred_allocation",
         .default_value = R"("none")",
         .meaning = "which devices a container had best get: packed on few NUMA nodes, or spread "
                    "over distinct devices",
         .choices = kPreferences}),
    KeyFor<&ResourceDraft::topology>(
        {.name = "topology",
         .meaning =
             "whether the kubelet is told of NUMA nodes; absent: unless replicas is above 1"}),
    KeyFor<&ResourceDraft::exclusive>(
        {.name = "exclusive",
         .default_value = "false",
         .meaning = "whether other resources are refused the nodes that this one has"}),
    KeyFor<&ResourceDraft::spec, &ResourceSpec::forget_after>(
        {.name = "forget_after",
         .default_value = R"("10m")",
         .meaning = "how long a vanished device stays listed as Unhealthy",
         .range = {1, 365 * kDay}}),
    KeyFor<&ResourceDraft::env_separator>(
        {.name = "env_separator",
         .default_value = R"(",")",
         .meaning = "what stands between the values of several devices in one variable"}),
    KeyFor<&ResourceDraft::on_nodes>(
        {.name = "on_nodes",
         .meaning = "only on Kubernetes nodes whose name matches one of these; absent: on all",
         .example = R"(["rack-*"])",
         .non_empty = true}),
    KeyFor<&ResourceDraft::cdi_devices>(
        {.name = "cdi_devices",
         .meaning = "names of CDI devices for the container, vendor/class=name",
         .example = R"(["vendor.com/class={name}"])",
         .pattern = kCdiNamePattern}),
    KeyFor<&ResourceDraft::matches>({.name = "match",
                                     .meaning = "a rule that finds devices; one or more",
                                     .required = true,
                                     .non_empty = true}),
    KeyFor<&ResourceDraft::device_nodes>(
        {.name = "device_node",
         .meaning = "a device node for the container; absent: every node, same path, \"rw\""}),
    KeyFor<&ResourceDraft::mounts>(
        {.name = "mount", .meaning = "a file or directory of the host for the container"}),
    KeyFor<&ResourceDraft::env>({.name = "env",
                                 .meaning = "environment variables",
                                 .example = R"({"SERIAL_PORTS": "{path}"})",
                                 .key_pattern = kEnvNamePattern}),
    KeyFor<&ResourceDraft::annotations>({.name = "annotations",
                                         .meaning = "annotations for the container runtime",
                                         .example = R"({"example.com/port": "{name}"})",
                                         .key_pattern = kAnnotationKeyPattern}),
    KeyFor<&ResourceDraft::health>(
        {.name = "health", .meaning = "how a device shows that it works; absent: by being there"}),
    KeyFor<&ResourceDraft::hooks>({.name = "hooks",
                                   .meaning = "programs that run around the life of a container",
                                   .non_empty = true}),
};

constexpr Key<DeviceNodeDraft> kDeviceNodeKeys[] = {
    KeyFor<&DeviceNodeDraft::host_path>(
        {.name = "host_path",
         .meaning = "the node on the host; absent: every node of the device",
         .example = R"("/dev/dri/renderD{card}")",
         .pattern = kPathTemplatePattern}),
    KeyFor<&DeviceNodeDraft::container_path>(
        {.name = "container_path",
         .meaning = "its path in the container; absent: host_path, or the path as matched",
         .example = R"("/dev/serial{slot}")",
         .pattern = kContainerPathPattern}),
    KeyFor<&DeviceNodeDraft::permissions>(
        {.name = "permissions",
         .default_value = R"("rw")",
         .meaning = "what the container may do: r (read), w (write), m (mknod)",
         .pattern = kPermissionsPattern}),
    KeyFor<&DeviceNodeDraft::optional>(
        {.name = "optional",
         .default_value = "false",
         .meaning = "leave the node out where the host has none, instead of failing"}),
};

constexpr Key<MountDraft> kMountKeys[] = {
    KeyFor<&MountDraft::host_path>({.name = "host_path",
                                    .meaning = "the path on the host",
                                    .required = true,
                                    .example = R"("/opt/tools")",
                                    .pattern = kPathTemplatePattern}),
    KeyFor<&MountDraft::container_path>({.name = "container_path",
                                         .meaning = "the path in the container; absent: host_path",
                                         .example = R"("/opt/tools")",
                                         .pattern = kContainerPathPattern}),
    KeyFor<&MountDraft::read_only>({.name = "read_only",
                                    .default_value = "true",
                                    .meaning = "whether the container may only read"}),
};

}  // namespace

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
std::span<const Key<DeviceNodeDraft>> KeysOf() {
  return kDeviceNodeKeys;
}
template <>
std::span<const Key<MountDraft>> KeysOf() {
  return kMountKeys;
}

std::vector<KeyInfo> AllKeys() {
  std::vector<KeyInfo> all;
  const auto add = [&](const auto& keys) {
    for (const auto& key : keys) all.push_back(key.info);
  };
  add(KeysOf<DocumentDraft>());
  add(KeysOf<DaemonDraft>());
  add(KeysOf<ResourceDraft>());
  add(KeysOf<MatchDraft>());
  add(KeysOf<UdevDraft>());
  add(KeysOf<DeviceNodeDraft>());
  add(KeysOf<MountDraft>());
  add(KeysOf<HealthDraft>());
  add(KeysOf<HooksDraft>());
  add(KeysOf<PreStartDraft>());
  add(KeysOf<AllocateDraft>());
  add(KeysOf<ReleaseDraft>());
  return all;
}

}  // namespace patchbay
