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
#include "model/device.h"
#include "model/glob.h"
#include "model/hardware_patterns.h"
#include "model/regex.h"
#include "model/template.h"
#include "model/text_pattern.h"

namespace patchbay {

/// The validated configuration: what the file says, compiled. Nothing above config/ sees TOML or
/// has a pattern, a duration or a template left to parse. Plain values, immutable once shared.

/// Devices are the nodes whose path matches one of the globs.
struct PathSource {
  std::vector<Glob> globs;
  bool operator==(const PathSource&) const = default;
};

/// Devices are the nodes whose whole path matches; named groups become variables.
struct RegexSource {
  Regex regex;
  bool operator==(const RegexSource&) const = default;
};

/// Devices that are only numbers: licenses, ports.
struct CountSource {
  int count = 0;
  bool operator==(const CountSource&) const = default;
};

/// Devices are what a program prints; see discovery/command_output.h.
struct CommandSource {
  std::vector<std::string> argv;
  std::chrono::milliseconds timeout = std::chrono::seconds(10);
  bool operator==(const CommandSource&) const = default;
};

/// A USB device or a PCI function is one device with all the nodes that belong to it; a match of
/// udev is the device itself, which may have no node at all.
using Source = std::variant<PathSource, RegexSource, CountSource, UsbPattern, PciPattern,
                            UdevPattern, CommandSource>;

/// Which kinds of file a path may lead to.
enum class NodeType { kDevice, kFile, kDirectory, kAny };
/// In the order of NodeType, as the file has them.
inline constexpr std::string_view kNodeTypeNames[] = {"device", "file", "directory", "any"};

/// A text for people. Two of them are always equal, so that a reload compares only what has effect.
struct DisplayText {
  std::string text;
  bool operator==(const DisplayText&) const { return true; }
};

/// One [[resource.match]].
struct MatchSpec {
  Source source;
  std::vector<Glob> exclude;
  std::optional<Template> id;  ///< absent: the default identity, see discovery/device_id.h
  NodeType type = NodeType::kDevice;
  HardwarePatterns conditions =
      {};                          ///< on every node of a path or regex, USB device or PCI function
  std::string group_by = {};       ///< nodes with one value of this variable are one device
  std::vector<Glob> require = {};  ///< a device must have a node for each of these
  int max_devices = 0;             ///< further ones are rejected; 0: no limit
  DisplayText display = {};        ///< the keys on one line, as in the file
  bool operator==(const MatchSpec&) const = default;
};

/// One [[resource.device_node]]: what a container gets of each device.
struct DeviceNodeSpec {
  std::optional<Template> host_path;       ///< absent: once for every node of the device
  std::optional<Template> container_path;  ///< absent: the path as matched, or host_path
  std::string permissions = "rw";          ///< a subset of "rwm" in this order
  bool optional = false;                   ///< left out where the host has no such node
  bool operator==(const DeviceNodeSpec&) const = default;
};

/// One [[resource.mount]].
struct MountSpec {
  Template host_path;
  Template container_path;
  bool read_only = true;
  bool operator==(const MountSpec&) const = default;
};

/// An entry of [resource.env] or [resource.annotations]; the key may hold variables too.
using TemplatePair = std::pair<Template, Template>;

/// [resource.health]: how a device shows that it works. The program ends with exit code 0.
struct CommandProbe {
  std::vector<Template> argv;
  bool operator==(const CommandProbe&) const = default;
};

/// Every device node can be opened.
struct OpenProbe {
  bool operator==(const OpenProbe&) const = default;
};

/// A file of the host holds a text, with or without a newline at its end.
struct FileProbe {
  Template path;
  std::variant<std::string, TextPattern> wanted;
  bool operator==(const FileProbe&) const = default;
};

using ProbeKind = std::variant<CommandProbe, OpenProbe, FileProbe>;

struct ProbeSpec {
  ProbeKind kind;
  std::chrono::milliseconds period = std::chrono::seconds(30);
  std::chrono::milliseconds timeout = std::chrono::seconds(5);
  std::chrono::milliseconds initial_delay{};
  int failure_threshold = 3;  ///< so many failures in a row make a device unhealthy
  int success_threshold = 1;  ///< so many successes in a row make it healthy again
  Health before_first = Health::kHealthy;
  bool operator==(const ProbeSpec&) const = default;
};

/// One of [resource.hooks]: a program that is run for each device that a container gets.
struct HookSpec {
  std::vector<Template> argv;
  std::chrono::milliseconds timeout = std::chrono::seconds(20);  ///< of all that one call runs
  bool operator==(const HookSpec&) const = default;
};

/// The programs that a resource runs around the life of a container, by their names in the file and
/// in metrics.
enum class Hook { kPreStart, kAllocate, kRelease };
inline constexpr Hook kAllHooks[] = {Hook::kPreStart, Hook::kAllocate, Hook::kRelease};
/// "pre_start", …
std::string_view Name(Hook hook);

/// The kubelet waits 30 seconds for PreStartContainer, and stopping a program takes two.
inline constexpr std::chrono::seconds kMaxPreStart{27};

/// Which free devices a container had best get, where the kubelet leaves it open.
enum class Preference { kNone, kPacked, kSpread };

/// One [[resource]].
struct ResourceSpec {
  std::string name;
  std::string description;
  int replicas = 1;
  int max_per_container = 0;  ///< 0: no limit
  Preference preferred_allocation = Preference::kNone;
  bool topology = true;    ///< whether the kubelet is told of NUMA nodes
  bool exclusive = false;  ///< whether no other resource gets a node of it
  std::chrono::milliseconds forget_after = std::chrono::minutes(10);
  std::string env_separator = ",";
  std::vector<NamePattern> on_nodes;  ///< empty: on every node
  std::vector<MatchSpec> matches;
  std::vector<DeviceNodeSpec> device_nodes;  ///< empty only where devices have no nodes
  std::vector<MountSpec> mounts;
  std::vector<TemplatePair> env;
  std::vector<TemplatePair> annotations;
  std::vector<Template> cdi_devices;
  std::optional<ProbeSpec> health;
  std::optional<HookSpec> pre_start;  ///< before a container starts
  std::optional<HookSpec> allocate;   ///< while the kubelet admits the pod, and nothing else
  std::optional<HookSpec> release;    ///< when no pod holds the device any more
  bool operator==(const ResourceSpec&) const = default;
};

/// The hook of a resource, if it has one.
const std::optional<HookSpec>& HookOf(const ResourceSpec& spec, Hook hook);

/// The longest path of a Unix socket in bytes: sun_path without its terminator. The kubelet fails
/// to dial a longer one.
inline constexpr std::size_t kMaxSocketPath = 107;
/// The longest kubelet_dir in bytes, which leaves room for the name of a socket
/// (kubelet/plugin_sockets.h).
inline constexpr std::size_t kMaxKubeletDir = 50;

/// [daemon].
struct DaemonSpec {
  std::string listen = "[::]:9478";
  /// Names that HTTP is served under, in lower case, besides those that http/host_check.h always
  /// accepts. The default is what only Services of the cluster are called.
  std::vector<NamePattern> hosts = {NamePattern::Compile("*.svc").value(),
                                    NamePattern::Compile("*.svc.cluster.local").value()};
  std::string kubelet_dir = "/var/lib/kubelet/device-plugins";
  std::string host_root = "/";
  std::string pod_resources = "/var/lib/kubelet/pod-resources/kubelet.sock";  ///< empty: not asked
  std::chrono::milliseconds rescan = std::chrono::seconds(60);
  int max_probes = 8;  ///< that run at once
  bool device_metrics = true;
  LogLevel log_level = LogLevel::kInfo;
  bool operator==(const DaemonSpec&) const = default;
};

/// The whole input.
struct Model {
  DaemonSpec daemon;
  std::vector<ResourceSpec> resources;
};

/// Whether sysfs is asked about the devices of a match, or of any match of a resource.
bool UsesSysfs(const MatchSpec& match);
bool UsesSysfs(const ResourceSpec& resource);

/// Whether whatever meets the pattern is of this subsystem.
bool IsOfSubsystem(const UdevPattern& udev, std::string_view name);

/// Whether devices of a match can have nodes: not what is only counted, nor network interfaces.
bool CanHaveNodes(const MatchSpec& match);
/// Whether those of any match of a resource can.
bool HasNodes(const ResourceSpec& resource);

/// Whether a program tells of devices of the resource.
bool HasCommand(const ResourceSpec& resource);

/// Whether a container has to wait before it starts: for pre_start, or until its devices have been
/// released by whoever had them.
bool NeedsPreStart(const ResourceSpec& resource);

/// Every template of a resource that is rendered for a device. Identity (`id` of a match) is not
/// among them: it is rendered before there is a slot or an index.
std::vector<const Template*> DeviceTemplates(const ResourceSpec& resource);

using ResourceSpecs = std::vector<std::shared_ptr<const ResourceSpec>>;

/// The resources of a model that are for the Kubernetes node of this name.
ResourceSpecs ResourcesFor(const Model& model, const std::string& node_name);

/// Those of `all` whose nodes `resource` cannot have: exclusive ones, of which the first has what
/// two of them claim.
ResourceSpecs ExclusiveResourcesAbove(const ResourceSpec& resource, const ResourceSpecs& all);

/// Whether these owners leave others the same nodes.
bool SameOwners(const ResourceSpecs& a, const ResourceSpecs& b);

}  // namespace patchbay
