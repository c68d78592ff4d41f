#include "inventory/allocation.h"

#include <algorithm>

#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "inventory/units.h"

namespace patchbay {
namespace {

/// An absolute path in its shortest form, so that one place has one name.
Result<std::string> CleanPath(std::string path, std::string_view what) {
  if (IsShortestPath(path) && IsUtf8(path)) return path;
  std::string clean;
  bool climbs = false;
  for (const std::string_view part : SplitPath(path)) {
    climbs = climbs || part == "..";
    if (part != ".") clean.append("/").append(part);
  }
  if (path.starts_with('/') && !clean.empty() && !climbs && IsUtf8(path) &&
      path.find('\0') == std::string::npos) {
    return clean;
  }
  return Fail(ErrorKind::kInvalid,
              format("the {} \"{}\" is not an absolute path without \"..\"", what, path));
}

Result<std::string> RenderPath(const Template& path, const Variables& variables,
                               std::string_view what) {
  return CleanPath(TRY(path.Render(variables)), what);
}

Status CheckText(const std::string& text, std::string_view what) {
  if (IsUtf8(text) && text.find('\0') == std::string::npos) return {};
  return Fail(ErrorKind::kInvalid, format("{} \"{}\" is not text", what, text));
}

/// The union of two permission strings in the order "rwm".
std::string JoinPermissions(std::string_view a, std::string_view b) {
  std::string joined;
  for (const char c : std::string_view("rwm")) {
    if (a.find(c) != std::string_view::npos || b.find(c) != std::string_view::npos) {
      joined.push_back(c);
    }
  }
  return joined;
}

/// The bytes of a response as a message, or a few more.
std::size_t BytesOf(const ContainerResponse& response) {
  constexpr std::size_t kTags = 24;  // and lengths, of an entry with all that it holds
  std::size_t bytes = 0;
  for (const auto* pairs : {&response.envs, &response.annotations}) {
    for (const auto& [key, value] : *pairs) bytes += key.size() + value.size() + kTags;
  }
  for (const auto& mount : response.mounts) {
    bytes += mount.container_path.size() + mount.host_path.size() + kTags;
  }
  for (const auto& device : response.devices) {
    bytes += device.container_path.size() + device.host_path.size() + kTags;
  }
  for (const std::string& name : response.cdi_devices) bytes += name.size() + kTags;
  return bytes;
}

/// Else the kubelet or the kernel would refuse it, with words that name neither.
Status CheckSizes(const ContainerResponse& response) {
  constexpr std::string_view kCure = "set a lower max_per_container, or give less of each device";
  for (const auto& [name, value] : response.envs) {
    const std::size_t bytes = name.size() + 1 + value.size();
    if (bytes <= kLongestEnv) continue;
    return Fail(
        ErrorKind::kInvalid,
        format("the environment variable \"{}\" would have {} bytes, and a program takes at "
               "most {}; {}",
               Excerpt(name, 100), bytes, kLongestEnv, kCure));
  }
  if (BytesOf(response) <= kLargestResponse) return {};
  return Fail(ErrorKind::kInvalid,
              format("the container would get {} bytes of paths, env and annotations, and the "
                     "kubelet takes at most {}; {}",
                     BytesOf(response), kLargestResponse, kCure));
}

/// Builds the response of one container, device by device.
class ResponseBuilder {
 public:
  ResponseBuilder(const ResourceSpec& spec, const AllocationContext& context)
      : spec_(spec), context_(context) {}

  Status Add(const Variables& variables) {
    for (const DeviceNodeSpec& node : spec_.device_nodes) TRY(AddDeviceNodes(node, variables));
    for (const MountSpec& mount : spec_.mounts) TRY(AddMount(mount, variables));
    for (const auto& pair : spec_.env) TRY(AddPair(pair, variables, "env", envs_));
    for (const auto& pair : spec_.annotations) {
      TRY(AddPair(pair, variables, "annotation", annotations_));
    }
    for (const Template& name : spec_.cdi_devices) {
      std::string rendered = TRY(name.Render(variables));
      TRY(CheckText(rendered, "the CDI device"));
      auto& names = response_.cdi_devices;
      if (std::find(names.begin(), names.end(), rendered) == names.end()) {
        names.push_back(std::move(rendered));
      }
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
      const std::string host_path = TRY(RenderPath(*node.host_path, variables, "host_path"));
      return AddDeviceNode(node, host_path, context_.resolve(host_path), variables);
    }
    for (const DeviceNode& matched : variables.device->nodes) {
      // A file or a directory reaches a container through a mount, not as a device node.
      if (matched.type != FileType::kCharacter && matched.type != FileType::kBlock) continue;
      variables.node = &matched;
      TRY(AddDeviceNode(node, matched.path, ResolveMatched(matched), variables));
    }
    return {};
  }

  Result<HostNode> ResolveMatched(const DeviceNode& matched) const {
    const bool is_link = matched.path != matched.real_path;
    HostNode known{matched.real_path, matched.type, matched.major, matched.minor};
    if (!is_link && context_.holds(known)) return known;
    return context_.resolve(matched.path);
  }

  Status AddDeviceNode(const DeviceNodeSpec& node, const std::string& host_path,
                       Result<HostNode> resolved, const Variables& variables) {
    std::string container_path =
        node.container_path ? TRY(node.container_path->Render(variables)) : host_path;
    container_path = TRY(CleanPath(std::move(container_path), "container_path"));
    if (!resolved) {
      if (node.optional) return {};
      return Fail(ErrorKind::kPrecondition,
                  format("the device \"{}\" has lost {}: {}", variables.id, host_path,
                         resolved.error().message));
    }
    if (resolved->type != FileType::kCharacter && resolved->type != FileType::kBlock) {
      return Fail(ErrorKind::kPrecondition,
                  format("{} of the device \"{}\" is not a device node", host_path, variables.id));
    }
    resolved->path = TRY(CleanPath(std::move(resolved->path), "host_path"));  // may be any bytes
    for (ContainerResponse::DeviceSpec& other : response_.devices) {
      if (other.container_path != container_path) continue;
      TRY(CheckSame(container_path, other.host_path, resolved->path));
      other.permissions = JoinPermissions(other.permissions, node.permissions);
      return {};
    }
    response_.devices.push_back(
        {std::move(container_path), std::move(resolved->path), node.permissions});
    return {};
  }

  Status AddMount(const MountSpec& mount, const Variables& variables) {
    ContainerResponse::Mount rendered{
        TRY(RenderPath(mount.container_path, variables, "container_path")),
        TRY(RenderPath(mount.host_path, variables, "host_path")), mount.read_only};
    for (ContainerResponse::Mount& other : response_.mounts) {
      if (other.container_path != rendered.container_path) continue;
      TRY(CheckSame(rendered.container_path, other.host_path, rendered.host_path));
      other.read_only = other.read_only && rendered.read_only;
      return {};
    }
    response_.mounts.push_back(std::move(rendered));
    return {};
  }

  static Status CheckSame(const std::string& container_path, const std::string& one,
                          const std::string& other) {
    if (one == other) return {};
    return Fail(ErrorKind::kInvalid,
                format("{} and {} would both be {} in the container; use {{slot}}, {{name}} or "
                       "another variable in container_path, or set max_per_container = 1",
                       one, other, container_path));
  }

  Status AddPair(const TemplatePair& pair, const Variables& variables, std::string_view what,
                 Pairs& pairs) {
    std::string key = TRY(pair.first.Render(variables));
    std::string value = TRY(pair.second.Render(variables));
    TRY(CheckText(key, what));
    TRY(CheckText(value, what));
    if (key.empty() || key.find('=') != std::string::npos) {
      return Fail(ErrorKind::kInvalid,
                  format("the {} name \"{}\" is empty or holds \"=\"", what, key));
    }
    auto& values = pairs[std::move(key)];
    if (std::find(values.begin(), values.end(), value) == values.end()) {
      values.push_back(std::move(value));
    }
    return {};
  }

  const ResourceSpec& spec_;
  const AllocationContext& context_;
  ContainerResponse response_;
  Pairs envs_;
  Pairs annotations_;
};

Result<ContainerResponse> Answer(const Snapshot& snapshot, std::span<const std::string> ids,
                                 const AllocationContext& context) {
  const std::vector<Unit> units = TRY(UnitsOf(snapshot, ids, context.node_name));
  const int limit = snapshot.spec->max_per_container;
  if (limit > 0 && units.size() > static_cast<std::size_t>(limit)) {
    return Fail(ErrorKind::kInvalid, format("a container may have at most {} of {}, not {}", limit,
                                            snapshot.spec->name, units.size()));
  }
  ResponseBuilder builder(*snapshot.spec, context);
  for (const Unit& unit : units) {
    if (unit.listed->health != Health::kHealthy) {
      return Fail(ErrorKind::kPrecondition, format("the device \"{}\" is unhealthy: {}",
                                                   unit.variables.id, unit.listed->reason));
    }
    TRY(builder.Add(unit.variables));
  }
  ContainerResponse response = std::move(builder).Build();
  TRY(CheckSizes(response));
  return response;
}

/// What to write for a variable that the device lacks.
std::string Instead(const Variables& variables, std::string_view name) {
  if (!SpeaksOfNode(name)) return "; leave it out, or match only devices that have it";
  return format(": it has no node; use {}{{id}}",
                variables.Find("INTERFACE") ? "{INTERFACE} or " : "");
}

}  // namespace

AllocationContext AllocationOn(const HostRoot& host, std::string node_name) {
  return {[host](const std::string& path) { return host.Resolve(path); },
          [host](const HostNode& node) { return host.Holds(node); }, std::move(node_name)};
}

Result<ContainerResponse> Allocate(const Snapshot& snapshot, std::span<const std::string> ids,
                                   const AllocationContext& context) {
  auto response = Answer(snapshot, ids, context);
  // The message quotes what came from outside, and ends in the status of a pod.
  if (!response) response.error().message = Printable(response.error().message);
  return response;
}

std::optional<Rejection> ProblemWithDevice(const std::shared_ptr<const ResourceSpec>& spec,
                                           const Device& device, std::string_view node_name) {
  const std::string path = device.nodes.empty() ? device.id : device.nodes.front().path;
  Variables variables = VariablesOf(device, spec->name, node_name);
  for (const Template* t : DeviceTemplates(*spec)) {
    for (const Template::Field& field : t->fields()) {
      if (variables.Find(field.name)) continue;
      return Rejection{path, RejectReason::kMissingVariable,
                       format("\"{}\" needs \"{}\", which this device does not have{}", t->text(),
                              field.name, Instead(variables, field.name))};
    }
  }
  // Whether the nodes are there is not asked: that is a matter of the moment.
  AllocationContext context;
  context.resolve = [](const std::string& host_path) -> Result<HostNode> {
    return HostNode{host_path, FileType::kCharacter, 0, 0};
  };
  context.holds = [](const HostNode&) { return true; };
  context.node_name = node_name;
  ResponseBuilder builder(*spec, context);
  const std::string id = AdvertisedId(*spec, device.id, 0);
  variables.id = id;
  if (const Status status = builder.Add(variables); !status) {
    return Rejection{path, RejectReason::kBadTemplate, Printable(status.error().message)};
  }
  return std::nullopt;
}

}  // namespace patchbay
