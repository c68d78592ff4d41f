// The tables of keys, except those in keys_of_match.cc and keys_of_health.cc. Each row names the
// member of the draft into which the key is decoded. docs/configuration.md and patchbay.toml(5)
// contain the same texts, which tests/unit/config/docs_test.cc checks.

#include "config/keys.h"

#include "base/log.h"
#include "config/decode.h"
#include "config/schema_patterns.h"

namespace patchbay {
namespace {

constexpr std::string_view kClientCertificate[] = {"client_certificate"};

constexpr Key<DocumentDraft> kDocumentKeys[] = {
    KeyFor<&DocumentDraft::daemon>({.name = "daemon", .meaning = "settings of the daemon"}),
    KeyFor<&DocumentDraft::resources>(
        {.name = "resource", .meaning = "an extended resource and its devices; can be repeated"}),
};

constexpr Key<DaemonDraft> kDaemonKeys[] = {
    KeyFor<&DaemonDraft::listen>(
        {.name = "listen",
         .default_value = R"("[::]:9478")",
         .meaning =
             "address and port of the HTTP server for the status page, metrics and health checks",
         .pattern = kListenPattern}),
    KeyFor<&DaemonDraft::hosts>(
        {.name = "hosts",
         .default_value = R"(["*.svc", "*.svc.cluster.local"])",
         .meaning = "names accepted in the Host header, in addition to IP addresses, localhost and "
                    "the node's name; * matches any text",
         .example = R"("patchbay.example.com")",
         .pattern = kHostPattern}),
    KeyFor<&DaemonDraft::kubelet_dir>(
        {.name = "kubelet_dir",
         .default_value = R"("/var/lib/kubelet/device-plugins")",
         .meaning = "the kubelet's device plugin directory, at most 50 bytes",
         .pattern = kKubeletDirPattern}),
    KeyFor<&DaemonDraft::host_root>({.name = "host_root",
                                     .default_value = R"("/")",
                                     .meaning = "the directory where the host's root file system "
                                                "is mounted; /dev and /sys are read below it",
                                     .pattern = kPathPattern}),
    KeyFor<&DaemonDraft::cdi_dir>(
        {.name = "cdi_dir",
         .default_value = R"("/var/run/cdi")",
         .meaning = "the directory for CDI files, which the container runtime reads",
         .pattern = kPathPattern}),
    KeyFor<&DaemonDraft::pod_resources>(
        {.name = "pod_resources",
         .default_value = R"("/var/lib/kubelet/pod-resources/kubelet.sock")",
         .meaning = "the kubelet's PodResources socket, which reports the devices in use by pods; "
                    "\"\" disables it",
         .pattern = kPathOrNothingPattern}),
    KeyFor<&DaemonDraft::spec, &DaemonSpec::rescan>(
        {.name = "rescan",
         .default_value = R"("60s")",
         .meaning = "interval between full scans, in case an event was missed",
         .range = {kSecond, kDay}}),
    KeyFor<&DaemonDraft::spec, &DaemonSpec::max_probes>(
        {.name = "max_probes",
         .default_value = "8",
         .meaning = "maximum number of health probes that run at the same time",
         .range = {1, 256}}),
    KeyFor<&DaemonDraft::spec, &DaemonSpec::device_metrics>(
        {.name = "device_metrics",
         .default_value = "true",
         .meaning = "whether metrics have series for each device"}),
    KeyFor<&DaemonDraft::spec, &DaemonSpec::log_level>({.name = "log_level",
                                                        .default_value = R"("info")",
                                                        .meaning = "minimum log level",
                                                        .choices = kLogLevelNames}),
    KeyFor<&DaemonDraft::spec, &DaemonSpec::api>(
        {.name = "api",
         .default_value = R"("device-plugin")",
         .meaning = "the API that serves resources without a key of this name: that of device "
                    "plugins, or Dynamic Resource Allocation",
         .choices = kApiNames}),
    KeyFor<&DaemonDraft::dra>(
        {.name = "dra", .meaning = "settings of Dynamic Resource Allocation"}),
    KeyFor<&DaemonDraft::kubernetes>(
        {.name = "kubernetes",
         .meaning = "the API server, for Dynamic Resource Allocation on a node without a pod; "
                    "default: that of the pod's service account",
         .non_empty = true}),
};

constexpr Key<DraDraft> kDraKeys[] = {
    KeyFor<&DraDraft::driver>(
        {.name = "driver",
         .default_value = R"("patchbay.dev")",
         .meaning = "the name of the driver in ResourceSlices and claims, at most 47 bytes",
         .pattern = kDriverPattern}),
};

constexpr Key<KubernetesDraft> kKubernetesKeys[] = {
    KeyFor<&KubernetesDraft::server>({.name = "server",
                                      .meaning = "the address of the API server",
                                      .required = true,
                                      .example = R"("https://10.0.0.1:6443")",
                                      .pattern = kServerPattern}),
    KeyFor<&KubernetesDraft::ca>(
        {.name = "ca",
         .meaning = "a file with the certificates that verify the API server",
         .required = true,
         .example = R"("/etc/kubernetes/pki/ca.crt")",
         .pattern = kPathPattern}),
    KeyFor<&KubernetesDraft::token_file>(
        {.name = "token_file",
         .meaning = "a file with a token, which is read again when it changes",
         .example = R"("/etc/patchbay/token")",
         .pattern = kPathPattern,
         .alternative_group = 1}),
    KeyFor<&KubernetesDraft::client_certificate>(
        {.name = "client_certificate",
         .meaning = "a file with a client certificate, instead of a token",
         .example = R"("/etc/patchbay/client.crt")",
         .pattern = kPathPattern,
         .alternative_group = 1}),
    KeyFor<&KubernetesDraft::client_key>(
        {.name = "client_key",
         .meaning = "a file with the private key of the client certificate",
         .example = R"("/etc/patchbay/client.key")",
         .pattern = kPathPattern,
         .needs = kClientCertificate}),
};

constexpr Key<ResourceDraft> kResourceKeys[] = {
    KeyFor<&ResourceDraft::name>(
        {.name = "name",
         .meaning =
             "the name that pods request: a domain, a slash and a name, as in example.com/serial",
         .required = true,
         .example = R"("example.com/serial")",
         .pattern = kResourceNamePattern}),
    KeyFor<&ResourceDraft::spec, &ResourceSpec::description>(
        {.name = "description",
         .default_value = R"("")",
         .meaning = "human-readable description",
         .example = R"("serial ports of the lab")"}),
    KeyFor<&ResourceDraft::api>(
        {.name = "api",
         .meaning = "the API that serves the resource: that of device plugins, or Dynamic Resource "
                    "Allocation; default: `api` of [daemon]",
         .choices = kApiNames}),
    KeyFor<&ResourceDraft::spec, &ResourceSpec::replicas>(
        {.name = "replicas",
         .default_value = "1",
         .meaning = "number of times each device is advertised",
         .range = {1, 10'000}}),
    KeyFor<&ResourceDraft::spec, &ResourceSpec::max_per_container>(
        {.name = "max_per_container",
         .default_value = "0",
         .meaning = "maximum number of devices that one container can request; 0 is no limit",
         .range = {0, 1'000'000}}),
    KeyFor<&ResourceDraft::preferred_allocation>(
        {.name = "preferred_allocation",
         .default_value = R"("none")",
         .meaning =
             "which devices to prefer: packed on few NUMA nodes, or spread over distinct devices",
         .choices = kPreferences}),
    KeyFor<&ResourceDraft::topology>({.name = "topology",
                                      .meaning = "whether NUMA nodes are reported to the kubelet; "
                                                 "default: true unless replicas is above 1"}),
    KeyFor<&ResourceDraft::exclusive>(
        {.name = "exclusive",
         .default_value = "false",
         .meaning = "whether the nodes of this resource are unavailable to other resources"}),
    KeyFor<&ResourceDraft::grant_group>(
        {.name = "grant_group",
         .default_value = "false",
         .meaning = "whether processes of the container are in the groups that own its device "
                    "nodes, so that they need not run as root"}),
    KeyFor<&ResourceDraft::spec, &ResourceSpec::forget_after>(
        {.name = "forget_after",
         .default_value = R"("10m")",
         .meaning = "how long a missing device stays listed as Unhealthy",
         .range = {1, 365 * kDay}}),
    KeyFor<&ResourceDraft::on_unhealthy>(
        {.name = "on_unhealthy",
         .default_value = R"("no-schedule")",
         .meaning = "with Dynamic Resource Allocation: whether an unhealthy device gets no new "
                    "pods, or its pods are evicted too",
         .choices = kOnUnhealthyNames}),
    KeyFor<&ResourceDraft::claim_env>(
        {.name = "claim_env",
         .meaning = "with Dynamic Resource Allocation: beginnings of the names of environment "
                    "variables that parameters of claims may set; default: none",
         .example = R"(["BAUD_"])",
         .non_empty = true}),
    KeyFor<&ResourceDraft::env_separator>(
        {.name = "env_separator",
         .default_value = R"(",")",
         .meaning = "separator between the values of several devices in one environment variable"}),
    KeyFor<&ResourceDraft::on_nodes>(
        {.name = "on_nodes",
         .meaning =
             "globs of names of Kubernetes nodes that serve the resource; default: all nodes",
         .example = R"(["rack-*"])",
         .non_empty = true}),
    KeyFor<&ResourceDraft::cdi_devices>(
        {.name = "cdi_devices",
         .meaning = "CDI device names for the container: vendor/class=name",
         .example = R"(["vendor.com/class={name}"])",
         .pattern = kCdiNamePattern}),
    KeyFor<&ResourceDraft::matches>({.name = "match",
                                     .meaning = "a rule that finds devices; can be repeated",
                                     .required = true,
                                     .non_empty = true}),
    KeyFor<&ResourceDraft::device_nodes>(
        {.name = "device_node",
         .meaning = "a device node for the container; default: every node, same path, \"rw\""}),
    KeyFor<&ResourceDraft::mounts>(
        {.name = "mount",
         .meaning = "a file or directory of the host to mount into the container"}),
    KeyFor<&ResourceDraft::env>({.name = "env",
                                 .meaning = "environment variables of the container",
                                 .example = R"({"SERIAL_PORTS": "{path}"})",
                                 .key_pattern = kEnvNamePattern}),
    KeyFor<&ResourceDraft::annotations>({.name = "annotations",
                                         .meaning = "annotations for the container runtime",
                                         .example = R"({"example.com/port": "{name}"})",
                                         .key_pattern = kAnnotationKeyPattern}),
    KeyFor<&ResourceDraft::attributes>(
        {.name = "attributes",
         .meaning = "with Dynamic Resource Allocation: attributes of each device, by which claims "
                    "select it; a value is a string, or a table with the key string, int, bool or "
                    "version",
         .example = R"({"port": "{usb_port}"})",
         .key_pattern = kAttributeNamePattern}),
    KeyFor<&ResourceDraft::health>(
        {.name = "health",
         .meaning =
             "a health probe for each device; default: a device is Healthy while it exists"}),
    KeyFor<&ResourceDraft::hooks>(
        {.name = "hooks",
         .meaning = "programs that run before and after containers use devices",
         .non_empty = true}),
};

constexpr Key<DeviceNodeDraft> kDeviceNodeKeys[] = {
    KeyFor<&DeviceNodeDraft::host_path>(
        {.name = "host_path",
         .meaning = "path of the node on the host; default: every node of the device",
         .example = R"("/dev/dri/renderD{card}")",
         .pattern = kPathTemplatePattern}),
    KeyFor<&DeviceNodeDraft::container_path>(
        {.name = "container_path",
         .meaning =
             "path of the node in the container; default: host_path, or the path that matched",
         .example = R"("/dev/serial{slot}")",
         .pattern = kContainerPathPattern}),
    KeyFor<&DeviceNodeDraft::permissions>(
        {.name = "permissions",
         .default_value = R"("rw")",
         .meaning = "permissions of the container: r (read), w (write), m (mknod)",
         .pattern = kPermissionsPattern}),
    KeyFor<&DeviceNodeDraft::optional>(
        {.name = "optional",
         .default_value = "false",
         .meaning =
             "whether the node is omitted, instead of an error, if the host does not have it"}),
};

constexpr Key<MountDraft> kMountKeys[] = {
    KeyFor<&MountDraft::host_path>({.name = "host_path",
                                    .meaning = "path on the host",
                                    .required = true,
                                    .example = R"("/opt/tools")",
                                    .pattern = kPathTemplatePattern}),
    KeyFor<&MountDraft::container_path>({.name = "container_path",
                                         .meaning = "path in the container; default: host_path",
                                         .example = R"("/opt/tools")",
                                         .pattern = kContainerPathPattern}),
    KeyFor<&MountDraft::read_only>({.name = "read_only",
                                    .default_value = "true",
                                    .meaning = "whether the mount is read-only"}),
    KeyFor<&MountDraft::optional>({.name = "optional",
                                   .default_value = "false",
                                   .meaning = "whether the mount is left out if the host does not "
                                              "have host_path"}),
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
std::span<const Key<DraDraft>> KeysOf() {
  return kDraKeys;
}
template <>
std::span<const Key<KubernetesDraft>> KeysOf() {
  return kKubernetesKeys;
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
  add(KeysOf<DraDraft>());
  add(KeysOf<KubernetesDraft>());
  add(KeysOf<ResourceDraft>());
  add(KeysOf<MatchDraft>());
  add(KeysOf<ConditionsDraft>());
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
