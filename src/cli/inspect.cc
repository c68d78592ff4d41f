#include "cli/inspect.h"

#include <algorithm>

#include "base/diagnostics.h"
#include "base/format.h"
#include "inventory/inventory.h"

namespace patchbay {

Status CheckResource(const Model& model, const std::string& resource,
                     const std::string& node_name) {
  const auto is_it = [&](const auto& spec) { return spec->name == resource; };
  const ResourceSpecs here = ResourcesFor(model, node_name);
  if (std::any_of(here.begin(), here.end(), is_it)) return {};
  std::vector<std::string_view> names;
  for (const ResourceSpec& spec : model.resources) names.push_back(spec.name);
  if (std::find(names.begin(), names.end(), resource) != names.end()) {
    return Fail(ErrorKind::kPrecondition,
                format("{} is not for the node \"{}\" (see on_nodes)", resource, node_name));
  }
  const std::string nearest(Nearest(resource, names));
  return Fail(ErrorKind::kNotFound,
              format("the configuration has no resource \"{}\"{}", resource,
                     nearest.empty() ? "" : format("; did you mean \"{}\"?", nearest)));
}

Result<std::vector<Inspection>> InspectHost(const Model& model, const InspectOptions& options) {
  if (!options.resource.empty()) TRY(CheckResource(model, options.resource, options.node_name));
  const HostRoot host(model.daemon.host_root);
  const ResourceSpecs specs = ResourcesFor(model, options.node_name);
  std::vector<Inspection> inspections;
  for (const auto& spec : specs) {
    if (!options.resource.empty() && spec->name != options.resource) continue;
    const Pass pass{.node_name = options.node_name,
                    .owners = OwnersBefore(*spec, specs),
                    .wanted_path = options.path,
                    .report = options.report};
    Discovery discovery = Discover(*spec, host, pass);
    std::vector<MatchReport> reports = std::move(discovery.reports);
    Inventory inventory(spec, options.node_name);
    inventory.Advance(std::move(discovery), std::chrono::steady_clock::now());
    inspections.push_back({inventory.snapshot(), std::move(reports)});
  }
  return inspections;
}

std::vector<std::string> HealthyUnits(const Snapshot& snapshot, std::size_t count) {
  std::vector<std::string> ids;
  for (const ListedDevice& listed : snapshot.devices) {
    if (listed.health != Health::kHealthy) continue;
    for (int replica = 0; replica < snapshot.spec->replicas && ids.size() < count; ++replica) {
      ids.push_back(AdvertisedId(*snapshot.spec, listed.device->id, replica));
    }
  }
  return ids;
}

}  // namespace patchbay
