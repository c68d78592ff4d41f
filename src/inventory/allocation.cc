// The answer for a container is made from the snapshot and from the host as it is now: the devices
// are checked, then for each of them nodes and mounts are resolved and templates rendered, and the
// parts of several devices are merged. Nothing is answered in part: the first error ends the call,
// and the kubelet rejects the pod.

#include "inventory/allocation.h"

#include <algorithm>
#include <set>

#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "cdi/group_device.h"
#include "inventory/replica_ids.h"
#include "model/render.h"

namespace patchbay {
namespace {

/// A host path may contain any bytes; a message to the kubelet may not.
Status CheckHostPath(const std::string& path) {
  if (IsShortestPath(path) && IsUtf8(path)) return {};
  return Fail(ErrorKind::kInvalid,
              Format("the host path \"{}\" is not an absolute path of UTF-8 without \".\" and "
                     "\"..\"; rename the file, or correct host_path",
                     path));
}

Status CheckText(const std::string& text, std::string_view what) {
  if (IsUtf8(text) && text.find('\0') == std::string::npos) return {};
  return Fail(ErrorKind::kInvalid,
              Format("{} \"{}\" is not text; use another variable, such as {{id}}, or match only "
                     "devices whose value is text",
                     what, text));
}

/// The union of two permission strings in the order "rwm".
std::string JoinPermissions(std::string_view a, std::string_view b) {
  std::string joined = "rwm";
  std::erase_if(joined, [&](char c) {
    return a.find(c) == std::string_view::npos && b.find(c) == std::string_view::npos;
  });
  return joined;
}

/// Renders the file that the probe of a device reads, if it reads one.
Status CheckProbe(const ResourceSpec& spec, const Variables& variables) {
  if (!spec.health) return {};
  const auto* file = std::get_if<FileProbe>(&spec.health->kind);
  if (file != nullptr) TRY(RenderPath(file->path, variables, "health.file"));
  return {};
}

/// Returns whether a name or address differs between the interfaces of a container by the slot.
bool NeedsSlot(const NetDeviceSpec& net) {
  const auto has_slot = [](const Template& t) {
    return std::ranges::count(t.fields(), "slot", &Template::Field::name) > 0;
  };
  return (net.name && has_slot(*net.name)) || std::ranges::any_of(net.addresses, has_slot);
}

Result<NetMove> MoveOf(const NetDeviceSpec& net, const Variables& variables) {
  if (!variables.device->interface) {
    return Fail(ErrorKind::kPrecondition,
                Format("the device \"{}\" is no network interface; the host is scanned again",
                       variables.id));
  }
  NetMove move{.interface = *variables.device->interface, .up = net.up, .mtu = net.mtu};
  move.interface.is_away = false;  // where it is now is no part of the move
  if (net.name) {
    move.name = TRY(
        RenderChecked(*net.name, variables, "the name of net_device", ProblemWithInterfaceName));
  }
  for (const Template& address : net.addresses) {
    move.addresses.push_back(TRY(
        RenderChecked(address, variables, "an address of net_device", ProblemWithPrefixedAddress)));
  }
  return move;
}

HostNode HostNodeOf(const DeviceNode& node) {
  return {node.real_path, node.type, node.major, node.minor, node.inode};
}

/// Builds the response of one container, device by device.
class ResponseBuilder {
 public:
  ResponseBuilder(const ResourceSpec& spec, const AllocationContext& context)
      : spec_(spec), context_(context) {}

  Status AddNodes(const Variables& variables) {
    for (const DeviceNodeSpec& node : DeviceNodesOf(spec_, variables.device->match)) {
      TRY(AddDeviceNodes(node, variables));
    }
    return {};
  }

  Status Add(const Variables& variables) {
    TRY(AddNodes(variables));
    for (const MountSpec& mount : spec_.mounts) TRY(AddMount(mount, variables));
    for (const auto& [name, value] : spec_.env) {
      std::string rendered = TRY(RenderEnvName(name, variables));
      TRY(AddPair(std::move(rendered), value, variables, "env", envs_));
    }
    for (const auto& [key, value] : spec_.annotations) {
      std::string rendered =
          TRY(RenderChecked(key, variables, "the annotation", ProblemWithAnnotationKey));
      TRY(AddPair(std::move(rendered), value, variables, "annotation", annotations_));
    }
    for (const Template& name : spec_.cdi_devices) {
      std::string rendered =
          TRY(RenderChecked(name, variables, "the CDI device", ProblemWithCdiName));
      auto& names = response_.cdi_devices;
      if (std::find(names.begin(), names.end(), rendered) == names.end()) {
        names.push_back(std::move(rendered));
      }
    }
    return AddNetwork(variables);
  }

  Status AddNetwork(const Variables& variables) {
    if (!spec_.net_device) return {};
    NetMove move = TRY(MoveOf(*spec_.net_device, variables));
    if (spec_.api == Api::kDevicePlugin) {
      const bool has_slots = NeedsSlot(*spec_.net_device);
      if (has_slots && variables.slot >= kMaxNetSlots) {
        return Fail(ErrorKind::kInvalid,
                    Format("a container can have at most {} interfaces whose name or addresses "
                           "contain {{slot}}; set max_per_container = {}, or use {{id}}",
                           kMaxNetSlots, kMaxNetSlots));
      }
      const int slot = has_slots ? static_cast<int>(variables.slot) : 0;
      response_.cdi_devices.push_back(
          QualifiedCdiName(kNetKind, NetDeviceName(spec_.name, variables.device->id, slot)));
    }
    for (const auto& [other, hook] : response_.networks) {
      if (other.name.empty() || other.name != move.name) continue;
      return Fail(ErrorKind::kInvalid,
                  Format("two interfaces of the container would have the name {}; use {{slot}} in "
                         "the name of net_device, or set max_per_container = 1",
                         move.name));
    }
    CdiHook hook = HookOf(move, context_.net_hook);
    response_.networks.push_back({std::move(move), std::move(hook)});
    return {};
  }

  /// Must be called after the last Add.
  Status AddGroups() {
    for (const std::uint32_t gid : groups_) {
      TRY(context_.provide_group(gid));
      response_.cdi_devices.push_back(GroupDeviceName(gid));
    }
    return {};
  }

  ContainerResponse Build() && {
    for (auto* pairs : {&envs_, &annotations_}) {
      auto& out = pairs == &envs_ ? response_.envs : response_.annotations;
      for (auto& [key, values] : *pairs) {
        std::string joined = std::move(values.front());
        for (std::size_t i = 1; i < values.size(); ++i) {
          joined.append(spec_.env_separator).append(values[i]);
        }
        out.emplace(key, std::move(joined));
      }
    }
    return std::move(response_);
  }

 private:
  using Pairs = std::map<std::string, std::vector<std::string>>;

  Status AddDeviceNodes(const DeviceNodeSpec& node, Variables variables) {
    if (node.host_path) {
      const std::string host_path =
          TRY(RenderPath(*node.host_path, variables, "host_path", ProblemWithNodePath));
      return AddDeviceNode(node, host_path, ResolveChosen(host_path, *variables.device), variables);
    }
    for (const DeviceNode& matched : variables.device->nodes) {
      // A file or a directory reaches a container through a mount, not as a device node.
      if (matched.type != FileType::kCharacter && matched.type != FileType::kBlock) continue;
      variables.node = &matched;
      TRY(AddDeviceNode(node, matched.path, ResolveMatched(matched.path, matched), variables));
    }
    return {};
  }

  /// Resolves a path that the configuration chose. It can be another name of a node of the device,
  /// such as {real_path}.
  Result<HostNode> ResolveChosen(const std::string& path, const Device& device) const {
    for (const DeviceNode& matched : device.nodes) {
      if (path == matched.path || path == matched.real_path) return ResolveMatched(path, matched);
    }
    HostNode now = TRY(context_.resolve(path));
    for (const DeviceNode& matched : device.nodes) {
      if (now.path == matched.real_path) TRY(CheckSame(path, matched, now));
    }
    return now;
  }

  /// The path must still lead to the node that the scan found: conditions and `exclusive` were
  /// checked for that node only.
  Result<HostNode> ResolveMatched(const std::string& path, const DeviceNode& matched) const {
    const bool is_link = path != matched.real_path;
    HostNode known = HostNodeOf(matched);
    // The group of a node may have changed since the scan.
    if (!is_link && !spec_.grant_group && !context_.needs_nodes && context_.holds(known)) {
      return known;
    }
    HostNode now = TRY(context_.resolve(path));
    TRY(CheckSame(path, matched, now));
    return now;
  }

  static Status CheckSame(const std::string& path, const DeviceNode& matched, const HostNode& now) {
    if (IsSameFile(now, HostNodeOf(matched))) return {};
    return Fail(
        ErrorKind::kPrecondition,
        Format("{} is not the device that was found there, {}:{}; the host is scanned again", path,
               matched.major, matched.minor));
  }

  Status AddDeviceNode(const DeviceNodeSpec& node, const std::string& host_path,
                       Result<HostNode> resolved, const Variables& variables) {
    if (!node.container_path) TRY(CheckHostPath(host_path));
    std::string container_path = node.container_path
                                     ? TRY(RenderPath(*node.container_path, variables,
                                                      "container_path", ProblemWithNodeTarget))
                                     : host_path;
    if (!resolved) {
      if (node.optional) return {};
      const bool is_absent = resolved.error().kind == ErrorKind::kNotFound;
      return Fail(
          ErrorKind::kPrecondition,
          Format("device \"{}\": node {} is missing: {}{}", variables.id, host_path,
                 resolved.error().message,
                 node.host_path ? "; load the driver that creates it, or correct host_path; if "
                                  "containers can run without it, set optional = true for this "
                                  "device_node"
                 : is_absent    ? "; connect the device again"
                                : ""));
    }
    if (resolved->type != FileType::kCharacter && resolved->type != FileType::kBlock) {
      return Fail(ErrorKind::kPrecondition,
                  Format("{} of the device \"{}\" is not a device node; correct the path, or use "
                         "a mount for a file or directory",
                         host_path, variables.id));
    }
    // Usually it is the path that was checked above.
    if (node.container_path || resolved->path != host_path) TRY(CheckHostPath(resolved->path));
    // The group of root is never granted.
    if (spec_.grant_group && resolved->gid != 0) groups_.insert(resolved->gid);
    for (ContainerResponse::DeviceSpec& other : response_.devices) {
      if (other.container_path != container_path || other.host_path != resolved->path) continue;
      other.permissions = JoinPermissions(other.permissions, node.permissions);
      return {};
    }
    auto& added = response_.devices.emplace_back(
        ContainerResponse::DeviceSpec{std::move(container_path), resolved->path, node.permissions});
    if (context_.needs_nodes) added.node = *std::move(resolved);
    return {};
  }

  Status AddMount(const MountSpec& mount, const Variables& variables) {
    ContainerResponse::Mount rendered;
    rendered.container_path =
        TRY(RenderPath(mount.container_path, variables, "container_path", ProblemWithMountTarget));
    rendered.host_path = TRY(RenderPath(mount.host_path, variables, "host_path"));
    rendered.read_only = mount.read_only;
    if (mount.optional) {
      const auto source = context_.resolve(rendered.host_path);
      const bool is_missing = !source && source.error().kind == ErrorKind::kNotFound;
      if (is_missing && context_.can_see(rendered.host_path)) return {};
    }
    for (const DeviceNode& node : variables.device->nodes) {
      if (node.path == rendered.host_path && node.path != node.real_path) {
        rendered.real_path = node.real_path;
      }
    }
    for (ContainerResponse::Mount& other : response_.mounts) {
      if (other.container_path != rendered.container_path ||
          other.host_path != rendered.host_path) {
        continue;
      }
      other.read_only = other.read_only && rendered.read_only;
      return {};
    }
    response_.mounts.push_back(std::move(rendered));
    return {};
  }

  Status AddPair(std::string key, const Template& value_template, const Variables& variables,
                 std::string_view what, Pairs& pairs) {
    std::vector<Template::Span> spans;
    std::string value = TRY(value_template.Render(variables, &spans));
    TRY(CheckText(value, what));
    if (spec_.max_per_container != 1) TRY(CheckSeparator(what, key, value, spans));
    auto& values = pairs[std::move(key)];
    if (std::find(values.begin(), values.end(), value) == values.end()) {
      values.push_back(std::move(value));
    }
    return {};
  }

  /// A value that contains the separator is indistinguishable from two values. Separators in the
  /// text of the template itself are allowed.
  Status CheckSeparator(std::string_view what, const std::string& key, const std::string& value,
                        const std::vector<Template::Span>& spans) const {
    const std::string& separator = spec_.env_separator;
    if (separator.empty()) return {};
    const std::string joined = value + separator;
    for (const Template::Span& span : spans) {
      // A separator that only begins or ends in the variable counts: with "::" a value may not end
      // with ":".
      const std::size_t reach = separator.size() - 1;
      const std::size_t begin = span.begin - std::min(span.begin, reach);
      const auto around = std::string_view(joined).substr(begin, span.end + reach - begin);
      if (span.begin == span.end || around.find(separator) == std::string_view::npos) continue;
      return Fail(
          ErrorKind::kInvalid,
          Format(
              "the {} \"{}\" is a list where a container gets several devices, and {{{}}} of "
              "this one contains the separator \"{}\": \"{}\"; set env_separator to a text that no "
              "value contains, or max_per_container = 1",
              what, Truncate(key, 100), span.name, separator, Truncate(value, 100)));
    }
    return {};
  }

  const ResourceSpec& spec_;
  const AllocationContext& context_;
  ContainerResponse response_;
  Pairs envs_;
  Pairs annotations_;
  std::set<std::uint32_t> groups_;  ///< that own the device nodes
};

Result<ContainerResponse> Answer(const Snapshot& snapshot, std::span<const std::string> ids,
                                 const AllocationContext& context) {
  const std::vector<Unit> units =
      TRY(FindUnits(snapshot, ids, context.node_name, context.first_slot));
  const int limit = snapshot.spec->max_per_container;
  if (limit > 0 && units.size() > static_cast<std::size_t>(limit)) {
    return Fail(ErrorKind::kInvalid,
                Format("a container can have at most {} of {}, not {}; request fewer devices, or "
                       "raise max_per_container",
                       limit, snapshot.spec->name, units.size()));
  }
  ResponseBuilder builder(*snapshot.spec, context);
  for (const Unit& unit : units) {
    if (unit.listed->health != Health::kHealthy) {
      return Fail(ErrorKind::kPrecondition,
                  Format("the device \"{}\" is unhealthy: {}; fix the device, or create the pod "
                         "again to get another one",
                         unit.variables.id, unit.listed->reason));
    }
    TRY(builder.Add(unit.variables));
  }
  TRY(builder.AddGroups());
  ContainerResponse response = std::move(builder).Build();
  TRY(CheckResponse(response));
  return response;
}

/// Suggests a template for a variable that the device lacks.
std::string Alternatives(const Variables& variables, std::string_view name) {
  if (!IsNodeVariable(name)) return "; remove it, or match only devices that have it";
  return Format(": it has no node; use {}{{id}}",
                variables.Find("INTERFACE") ? "{INTERFACE} or " : "");
}

}  // namespace

Result<ContainerResponse> Allocate(const Snapshot& snapshot, std::span<const std::string> ids,
                                   const AllocationContext& context) {
  auto response = Answer(snapshot, ids, context);
  // The message quotes untrusted text and appears in the status of a pod.
  if (!response) response.error().message = Printable(response.error().message);
  return response;
}

Status ProvideGroups(const ResourceSpec& spec, const DeviceList& devices,
                     const AllocationContext& context) {
  if (!spec.grant_group) return {};
  ResponseBuilder builder(spec, context);
  for (const Device& device : devices) {
    const std::string id = AdvertisedId(spec, device.id, 0);
    Variables variables = VariablesOf(device, spec.name, context.node_name);
    variables.id = id;
    // An error is reported when the device is allocated; the groups found before it count.
    [[maybe_unused]] const Status added = builder.AddNodes(variables);
  }
  return builder.AddGroups();
}

CdiSpec NetDevicesOf(const ResourceSpec& spec, const DeviceList& devices,
                     const std::string& node_name, const NetHook& hook) {
  CdiSpec file{.kind = std::string(kNetKind), .devices = {}};
  const int limit = spec.max_per_container > 0 ? spec.max_per_container : kMaxNetSlots;
  const int slots = NeedsSlot(*spec.net_device) ? std::min(limit, kMaxNetSlots) : 1;
  for (const Device& device : devices) {
    const std::string id = AdvertisedId(spec, device.id, 0);
    Variables variables = VariablesOf(device, spec.name, node_name);
    variables.id = id;
    for (int slot = 0; slot < slots; ++slot) {
      variables.slot = slot;
      const auto move = MoveOf(*spec.net_device, variables);
      if (!move) continue;
      file.devices.push_back(
          {NetDeviceName(spec.name, device.id, slot), {.hooks = {HookOf(*move, hook)}}});
    }
  }
  return file;
}

AllocationTrial::AllocationTrial(const ResourceSpec& spec, std::string_view node_name)
    : spec_(spec) {
  // Nodes are not looked up: they may be missing for a moment only.
  context_.resolve = [this](const std::string& host_path) -> Result<HostNode> {
    for (const DeviceNode& node : device_->nodes) {
      if (node.path == host_path || node.real_path == host_path) return HostNodeOf(node);
    }
    return HostNode{host_path, FileType::kCharacter, 0, 0};
  };
  context_.holds = [](const HostNode&) { return true; };
  context_.node_name = node_name;
}

/// Returns each variable that devices of a match need, with the first template that needs it.
const std::vector<AllocationTrial::Need>& AllocationTrial::NeedsOf(std::size_t match) {
  const auto [at, is_new] = needs_.try_emplace(match);
  std::vector<Need>& needs = at->second;
  if (!is_new) return needs;
  for (const Template* t : DeviceTemplates(spec_, match)) {
    for (const Template::Field& field : t->fields()) {
      const bool is_known =
          std::ranges::any_of(needs, [&](const Need& need) { return need.variable == field.name; });
      if (!is_known) needs.push_back({field.name, t});
    }
  }
  return needs;
}

std::optional<Rejection> AllocationTrial::ProblemWith(const Device& device) {
  device_ = &device;
  const auto rejected = [&](RejectReason reason, std::string detail) {
    return Rejection{device.nodes.empty() ? device.id : device.nodes.front().path, reason,
                     std::move(detail)};
  };
  Variables variables = VariablesOf(device, spec_.name, context_.node_name);
  for (const auto& [variable, used_by] : NeedsOf(device.match)) {
    if (variables.Find(variable)) continue;
    return rejected(RejectReason::kMissingVariable,
                    Format("\"{}\" needs \"{}\", which this device does not have{}",
                           used_by->text(), variable, Alternatives(variables, variable)));
  }
  ResponseBuilder builder(spec_, context_);
  const std::string id = AdvertisedId(spec_, device.id, 0);
  variables.id = id;
  Status status = builder.Add(variables);
  if (status) status = CheckProbe(spec_, variables);
  if (status) status = CheckResponse(std::move(builder).Build());
  if (status) return std::nullopt;
  return rejected(RejectReason::kBadTemplate, Printable(status.error().message));
}

std::optional<Rejection> ProblemWithDevice(const std::shared_ptr<const ResourceSpec>& spec,
                                           const Device& device, std::string_view node_name) {
  return AllocationTrial(*spec, node_name).ProblemWith(device);
}

}  // namespace patchbay
