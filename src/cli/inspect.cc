#include "cli/inspect.h"

#include <algorithm>

#include "base/diagnostics.h"
#include "base/format.h"
#include "inventory/inventory.h"

namespace patchbay {
namespace {

Status CheckResource(const Model& model, const std::string& name) {
  std::vector<std::string_view> names;
  for (const ResourceSpec& spec : model.resources) names.push_back(spec.name);
  if (std::find(names.begin(), names.end(), name) != names.end()) return {};
  const std::string nearest(Nearest(name, names));
  return Fail(ErrorKind::kNotFound,
              format("the configuration has no resource \"{}\"{}", name,
                     nearest.empty() ? "" : format("; did you mean \"{}\"?", nearest)));
}

}  // namespace

Result<std::vector<Inspection>> InspectHost(const Model& model, const InspectOptions& options) {
  if (!options.resource.empty()) TRY(CheckResource(model, options.resource));
  const HostRoot host(model.daemon.host_root);
  const ResourceSpecs specs = ResourcesFor(model, options.node_name);
  std::vector<Inspection> inspections;
  for (const auto& spec : specs) {
    if (!options.resource.empty() && spec->name != options.resource) continue;
    const Pass pass{.node_name = options.node_name,
                    .owners = OwnersBefore(*spec, specs),
                    .report = options.report};
    Discovery discovery = Discover(*spec, host, pass);
    std::vector<MatchReport> reports = std::move(discovery.reports);
    Inventory inventory(spec, options.node_name);
    inventory.Advance(std::move(discovery), std::chrono::steady_clock::now());
    inspections.push_back({inventory.snapshot(), std::move(reports)});
  }
  if (inspections.empty() && !options.resource.empty()) {
    return Fail(ErrorKind::kPrecondition, format("{} is not for the node \"{}\" (see on_nodes)",
                                                 options.resource, options.node_name));
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
