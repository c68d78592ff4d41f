#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/log.h"
#include "model/attribute.h"
#include "model/capacity.h"
#include "model/cluster_config.h"
#include "model/device.h"
#include "model/glob.h"
#include "model/hardware_patterns.h"
#include "model/node_filter.h"
#include "model/regex.h"
#include "model/template.h"
#include "model/text_pattern.h"

namespace patchbay {

/// The validated configuration. config/ creates it from TOML and compiles all patterns, durations
/// and templates. Plain values; immutable once shared between threads.

/// Each file whose path matches one of the globs is a device.
struct PathSource {
  static constexpr SourceTraits kTraits{
      .has_nodes = true, .has_several_nodes = false, .reads_sysfs = false};
  std::vector<Glob> globs;
  bool operator==(const PathSource&) const = default;
};

/// Each file whose whole path matches is a device. Named groups become variables.
struct RegexSource {
  static constexpr SourceTraits kTraits{
      .has_nodes = true, .has_several_nodes = false, .reads_sysfs = false};
  Regex regex;
  bool operator==(const RegexSource&) const = default;
};

/// Devices without host nodes, such as licenses or ports.
struct CountSource {
  static constexpr SourceTraits kTraits{
      .has_nodes = false, .has_several_nodes = false, .reads_sysfs = false};
  int count = 0;
  bool operator==(const CountSource&) const = default;
};

/// A program lists the devices; discovery/command_output.h describes its output.
struct CommandSource {
  static constexpr SourceTraits kTraits{
      .has_nodes = true, .has_several_nodes = true, .reads_sysfs = false};
  std::vector<std::string> argv;
  std::chrono::milliseconds timeout = std::chrono::seconds(10);
  bool operator==(const CommandSource&) const = default;
};

/// How a match finds devices. A USB device or a PCI function is one device with all its nodes. A
/// match of udev finds single sysfs devices, which may have no node.
using Source = std::variant<PathSource, RegexSource, CountSource, UsbPattern, PciPattern,
                            UdevPattern, CommandSource>;

/// The type of file that a path must resolve to.
enum class NodeType { kDevice, kFile, kDirectory, kAny };
/// The values of the key `type`, in the order of NodeType.
inline constexpr std::string_view kNodeTypeNames[] = {"device", "file", "directory", "any"};

/// Human-readable text. All values are equal, so that a change has no effect on reload.
struct DisplayText {
  std::string text;
  bool operator==(const DisplayText&) const { return true; }
};

/// One [[resource.device_node]]: a device node that a container gets for each device.
struct DeviceNodeSpec {
  std::optional<Template> host_path;       ///< absent: every node of the device
  std::optional<Template> container_path;  ///< absent: the matched path, or host_path
  std::string permissions = "rw";          ///< a subset of "rwm" in this order
  bool optional = false;                   ///< left out if the host has no such node
  bool operator==(const DeviceNodeSpec&) const = default;
};

/// One [[resource.match]].
struct MatchSpec {
  Source source;
  std::vector<Glob> exclude;
  std::optional<Template> id;  ///< absent: the default ID, see discovery/device_id.h
  NodeType type = NodeType::kDevice;
  /// Conditions for each node of a path or regex, for the USB device or for the PCI function.
  HardwarePatterns conditions = {};
  HardwarePatterns negated = {};   ///< excludes what one of its patterns matches
  std::string group_by = {};       ///< nodes with the same value of this variable are one device
  bool together = false;           ///< all nodes are one device, which needs one for each pattern
  std::vector<Glob> require = {};  ///< a device must have a node for each of these globs
  int max_devices = 0;             ///< additional devices are rejected; 0: no limit
  bool exclude_required = false;   ///< each glob of `exclude` must exclude something
  bool allow_mounted = false;      ///< disks that the host uses are devices, too
  /// Replaces the device nodes of the resource for devices of this match, unless it is empty.
  std::vector<DeviceNodeSpec> device_nodes = {};
  DisplayText display = {};  ///< the keys on one line, as in the configuration file
  bool operator==(const MatchSpec&) const = default;
};

/// One [[resource.mount]].
struct MountSpec {
  Template host_path;
  Template container_path;
  bool read_only = true;
  bool optional = false;  ///< left out if the host does not have it
  bool operator==(const MountSpec&) const = default;
};

/// [[resource.net_device]]: the network interface of each device moves into the container.
struct NetDeviceSpec {
  std::optional<Template> name;     ///< in the container; absent: as on the host
  bool up = true;                   ///< whether it is set up
  int mtu = 0;                      ///< 0: as on the host
  std::vector<Template> addresses;  ///< with the length of the prefix: "192.0.2.7/24"
  bool operator==(const NetDeviceSpec&) const = default;
};
/// The maximum number of addresses, that of patchbay-net.
inline constexpr std::size_t kMaxNetAddresses = 16;

/// An entry of [resource.env] or [resource.annotations]. The key can contain variables too.
using TemplatePair = std::pair<Template, Template>;

/// A probe that succeeds if the program exits with 0.
struct CommandProbe {
  std::vector<Template> argv;
  bool operator==(const CommandProbe&) const = default;
};

/// A probe that succeeds if every node of the device can be opened.
struct OpenProbe {
  bool operator==(const OpenProbe&) const = default;
};

/// A probe that succeeds if the content of a host file matches. A newline at the end is ignored.
struct FileProbe {
  Template path;
  std::variant<std::string, TextPattern> wanted;
  bool operator==(const FileProbe&) const = default;
};

using ProbeKind = std::variant<CommandProbe, OpenProbe, FileProbe>;

/// [resource.health].
struct ProbeSpec {
  ProbeKind kind;
  std::chrono::milliseconds period = std::chrono::seconds(30);
  std::chrono::milliseconds timeout = std::chrono::seconds(5);
  std::chrono::milliseconds initial_delay{};
  int failure_threshold = 3;               ///< consecutive failures until Unhealthy
  int success_threshold = 1;               ///< consecutive successes until Healthy
  Health before_first = Health::kHealthy;  ///< until a threshold is reached
  bool operator==(const ProbeSpec&) const = default;
};

/// One of [resource.hooks]: a program that runs for each device of a container.
struct HookSpec {
  std::vector<Template> argv;
  std::chrono::milliseconds timeout = std::chrono::seconds(20);  ///< for all devices of one call
  bool operator==(const HookSpec&) const = default;
};

/// The lifecycle hooks of a container.
enum class Hook { kPreStart, kAllocate, kRelease };
inline constexpr Hook kAllHooks[] = {Hook::kPreStart, Hook::kAllocate, Hook::kRelease};
/// Returns the name in the configuration and in metrics: "pre_start", …
std::string_view Name(Hook hook);

/// The maximum timeout of pre_start. The kubelet waits 30 seconds for PreStartContainer
/// (kubelet/cm/devicemanager/endpoint.go), and stopping a program takes up to two.
inline constexpr std::chrono::seconds kMaxPreStart{27};

/// The limit for allocate and pre_start of a claim together. The kubelet waits 45 seconds for
/// NodePrepareResources (kubernetes pkg/kubelet/cm/dra/plugin/dra_plugin.go).
inline constexpr std::chrono::seconds kClaimHookLimit{40};

/// Which free devices GetPreferredAllocation prefers.
enum class Preference { kNone, kPacked, kSpread };

/// The API of the kubelet that serves a resource.
enum class Api { kDevicePlugin, kDra };
/// The values of the key `api`, in the order of Api.
inline constexpr std::string_view kApiNames[] = {"device-plugin", "dra"};

/// The effect of the taint of an unhealthy device that is served by Dynamic Resource Allocation.
enum class OnUnhealthy { kNoSchedule, kEvict };
/// The values of the key `on_unhealthy`, in the order of OnUnhealthy.
inline constexpr std::string_view kOnUnhealthyNames[] = {"no-schedule", "evict"};

/// One [[resource]].
struct ResourceSpec {
  std::string name;
  std::string description;
  Api api = Api::kDevicePlugin;
  OnUnhealthy on_unhealthy = OnUnhealthy::kNoSchedule;  ///< of kDra
  /// The beginnings of variables that parameters of claims may set; of kDra.
  std::vector<std::string> claim_env;
  int replicas = 1;
  int max_per_container = 0;  ///< 0: no limit
  Preference preferred_allocation = Preference::kNone;
  bool topology = true;      ///< whether to report NUMA nodes to the kubelet
  bool exclusive = false;    ///< whether its nodes are unavailable to other resources
  bool grant_group = false;  ///< whether containers get the groups of their device nodes
  std::chrono::milliseconds forget_after = std::chrono::minutes(10);
  std::string env_separator = ",";
  NodeFilter on_nodes;
  std::vector<MatchSpec> matches;
  std::vector<DeviceNodeSpec> device_nodes;  ///< empty only if the devices have no nodes
  std::vector<MountSpec> mounts;
  std::optional<NetDeviceSpec> net_device;
  std::vector<TemplatePair> env;
  std::vector<TemplatePair> annotations;
  std::vector<Template> cdi_devices;
  std::vector<AttributeSpec> attributes;  ///< of kDra
  std::vector<CapacitySpec> capacity;     ///< of kDra
  std::optional<ProbeSpec> health;
  std::optional<HookSpec> pre_start;  ///< runs before a container starts
  std::optional<HookSpec> allocate;   ///< runs while the kubelet admits the pod
  std::optional<HookSpec> release;    ///< runs when no pod uses the device any more
  bool operator==(const ResourceSpec&) const = default;
};

/// Returns the hook of a resource, or nothing.
const std::optional<HookSpec>& HookOf(const ResourceSpec& spec, Hook hook);

/// The maximum length of the path of a Unix socket in bytes: sun_path without the terminating NUL.
/// The kubelet cannot dial a longer one.
inline constexpr std::size_t kMaxSocketPath = 107;
/// The maximum length of kubelet_dir in bytes. The rest is for the name of a socket; see
/// kubelet/plugin_sockets.h.
inline constexpr std::size_t kMaxKubeletDir = 50;

/// [daemon].
struct DaemonSpec {
  std::string listen = "[::]:9478";
  /// Accepted values of the Host header, in lower case, in addition to those of http/host_check.h.
  /// The default matches only Services of the cluster.
  std::vector<NamePattern> hosts = {NamePattern::Compile("*.svc").value(),
                                    NamePattern::Compile("*.svc.cluster.local").value()};
  std::string kubelet_dir = "/var/lib/kubelet/device-plugins";
  std::string host_root = "/";
  std::string cdi_dir = "/var/run/cdi";  ///< for grant_group and claims; a path of this process
  std::string pod_resources = "/var/lib/kubelet/pod-resources/kubelet.sock";  ///< empty: disabled
  std::chrono::milliseconds rescan = std::chrono::seconds(60);
  int max_probes = 8;  ///< probes that run at the same time
  bool device_metrics = true;
  bool suggest_page = false;
  LogLevel log_level = LogLevel::kInfo;
  Api api = Api::kDevicePlugin;               ///< of resources that do not set one
  std::string dra_driver = "patchbay.dev";    ///< the name of the driver at the API server
  bool device_metadata = true;                ///< containers get the attributes of their claims
  std::optional<ClusterSettings> kubernetes;  ///< absent: those of the pod
  bool operator==(const DaemonSpec&) const = default;
};

/// The whole configuration.
struct Model {
  DaemonSpec daemon;
  std::vector<ResourceSpec> resources;
};

/// Returns whether a node or device must meet conditions, in addition to the source.
bool HasConditions(const MatchSpec& match);

/// Returns whether discovery reads sysfs for the match, or for any match of the resource.
bool UsesSysfs(const MatchSpec& match);
bool UsesSysfs(const ResourceSpec& resource);

/// Returns whether the pattern matches only devices of the subsystem.
bool IsOfSubsystem(const UdevPattern& udev, std::string_view name);

/// Returns whether all devices of the match are network interfaces.
bool FindsInterfaces(const MatchSpec& match);

/// Returns whether devices of the match can have nodes. A count and network interfaces cannot.
bool CanHaveNodes(const MatchSpec& match);
/// Returns whether devices of any match of the resource can have nodes.
bool HasNodes(const ResourceSpec& resource);

/// Returns whether a container can get a device node with a device of the resource.
bool GivesDeviceNodes(const ResourceSpec& resource);

/// Returns whether a match of the resource runs a command.
bool HasCommand(const ResourceSpec& resource);

/// Returns whether any of the resources is served by Dynamic Resource Allocation.
bool HasDra(const std::vector<std::shared_ptr<const ResourceSpec>>& resources);

/// Returns whether the kubelet must call PreStartContainer: for pre_start, or to wait until the
/// devices have been released by the previous container.
bool NeedsPreStart(const ResourceSpec& resource);

/// Returns the device nodes that a container gets for devices of a match, which is an index in
/// `matches`. For a match that the resource no longer has, returns those of the resource.
const std::vector<DeviceNodeSpec>& DeviceNodesOf(const ResourceSpec& resource, std::size_t match);

/// Returns all templates of a resource that are rendered for devices of a match. `id` of the match
/// is not included: it is rendered before slot and index are known.
std::vector<const Template*> DeviceTemplates(const ResourceSpec& resource, std::size_t match);

/// Returns the traits of the source of a match.
SourceTraits TraitsOf(const MatchSpec& match);

using ResourceSpecs = std::vector<std::shared_ptr<const ResourceSpec>>;

/// Returns the resources that the Kubernetes node `node_name` serves.
ResourceSpecs ResourcesFor(const Model& model, const std::string& node_name);

/// Returns the exclusive resources of `all` whose nodes are unavailable to `resource`. If two
/// exclusive resources match a node, the first one has it.
ResourceSpecs ExclusiveResourcesAbove(const ResourceSpec& resource, const ResourceSpecs& all);

/// Returns whether the two lists of exclusive resources make the same nodes unavailable.
bool SameExclusive(const ResourceSpecs& a, const ResourceSpecs& b);

}  // namespace patchbay
