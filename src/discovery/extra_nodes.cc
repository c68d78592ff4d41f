#include "discovery/extra_nodes.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "base/escape.h"
#include "base/format.h"
#include "base/path.h"
#include "model/render.h"

namespace patchbay {
namespace {

/// The maximum number of missing mounts that are reported per resource.
constexpr std::size_t kMaxMissingMounts = 100;

bool Uses(const Template& path, std::string_view name) {
  return std::any_of(path.fields().begin(), path.fields().end(),
                     [&](const Template::Field& field) { return field.name == name; });
}

std::string ProblemWithNode(const std::string& path, ScanContext& scan) {
  scan.WatchPath(path);
  const auto node = scan.host().Resolve(path);
  if (!node) {
    return node.error().kind == ErrorKind::kNotFound
               ? Format(
                     "{} of device_node is missing: {}; if containers can run without it, set "
                     "optional = true",
                     path, node.error().message)
               : Format("{} of device_node: {}", path, node.error().message);
  }
  if (!IsUtf8(node->path)) {
    return Format("{} of device_node leads to a path that is not valid UTF-8", path);
  }
  if (node->type == FileType::kCharacter || node->type == FileType::kBlock) return "";
  return Format("{} of device_node is {}, not a device node", path, Describe(node->type));
}

std::string ProblemWithMount(const std::string& path, ScanContext& scan) {
  if (!scan.host().CanSee(path)) return "";
  const auto source = scan.host().Resolve(path);
  if (source) return "";
  return Format(
      "{}; the container runtime creates an empty directory there or rejects the container",
      source.error().message);
}

/// The problems of the paths of one template. Each path is checked once per scan.
class ExtraPaths {
 public:
  using Problem = std::string (*)(const std::string& path, ScanContext& scan);

  ExtraPaths(const ResourceSpec& spec, ScanContext& scan, Problem look)
      : spec_(spec), scan_(scan), look_(look) {}

  /// Calls `f(path, problem)` for each path with a problem.
  template <class F>
  void ForEachProblem(const Template& path, Variables variables, F f) {
    if (Uses(path, "slot") || Uses(path, "index")) return;
    if (path.fields().empty()) {
      const auto [known, is_new] = constants_.try_emplace(&path, nullptr);
      if (is_new) known->second = Look(RenderPath(path, variables, "host_path"));
      if (known->second != nullptr) f(known->second->first, known->second->second);
      return;
    }
    const bool differs = Uses(path, "replica") || Uses(path, "id");
    for (int replica = 0; replica < (differs ? spec_.replicas : 1); ++replica) {
      const std::string id = AdvertisedId(spec_, variables.device->id, replica);
      variables.replica = replica;
      variables.id = id;
      const Known* known = Look(RenderPath(path, variables, "host_path"));
      if (known != nullptr) f(known->first, known->second);
    }
  }

 private:
  using Known = std::pair<const std::string, std::string>;

  /// Returns the path and its problem, or null. A device whose template cannot be rendered is
  /// rejected, see ProblemWithDevice.
  const Known* Look(const Result<std::string>& path) {
    if (!path || !path->starts_with('/')) return nullptr;
    const auto [known, is_new] = problems_.try_emplace(*path);
    if (is_new) known->second = look_(*path, scan_);
    return known->second.empty() ? nullptr : &*known;
  }

  const ResourceSpec& spec_;
  ScanContext& scan_;
  const Problem look_;
  std::unordered_map<std::string, std::string> problems_;  ///< by path; empty if there is none
  std::unordered_map<const Template*, const Known*> constants_;
};

}  // namespace

void FindMissing(const ResourceSpec& spec, const std::string& node_name, ScanContext& scan,
                 Discovery& discovery) {
  const auto needs_paths = [](const std::vector<DeviceNodeSpec>& nodes) {
    return std::ranges::any_of(nodes,
                               [](const DeviceNodeSpec& n) { return n.host_path && !n.optional; });
  };
  if (spec.mounts.empty() && !needs_paths(spec.device_nodes) &&
      std::ranges::none_of(spec.matches, needs_paths, &MatchSpec::device_nodes)) {
    return;
  }

  ExtraPaths nodes(spec, scan, ProblemWithNode), mounts(spec, scan, ProblemWithMount);
  std::map<std::string, std::string> missing_mounts;
  for (const Device& device : discovery.devices) {
    const Variables variables = VariablesOf(device, spec.name, node_name);
    for (const DeviceNodeSpec& node : DeviceNodesOf(spec, device.match)) {
      if (!node.host_path || node.optional) continue;
      nodes.ForEachProblem(*node.host_path, variables,
                           [&](const std::string&, const std::string& problem) {
                             discovery.unusable.try_emplace(device.id, problem);
                           });
    }
    for (const MountSpec& mount : spec.mounts) {
      if (mount.optional) continue;
      mounts.ForEachProblem(mount.host_path, variables,
                            [&](const std::string& path, const std::string& problem) {
                              if (missing_mounts.size() < kMaxMissingMounts)
                                missing_mounts.emplace(path, problem);
                            });
    }
  }
  for (auto& [path, problem] : missing_mounts) discovery.missing_mounts.push_back({path, problem});
}

}  // namespace patchbay
