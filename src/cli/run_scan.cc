// Each resource is scanned into an inventory that is discarded afterwards, so that the code of the
// daemon decides which devices are listed, rejected or unhealthy. As in the daemon, a scan receives
// the exclusive resources that have precedence, because they may own nodes.

#include "cli/run_scan.h"

#include <algorithm>

#include "base/diagnostics.h"
#include "base/escape.h"
#include "base/format.h"
#include "inventory/inventory.h"
#include "model/hidden_resources.h"
#include "network/net_directory.h"

namespace patchbay {

Status CheckResourceName(const Model& model, const std::string& resource) {
  std::vector<std::string_view> names;
  for (const ResourceSpec& spec : model.resources) names.push_back(spec.name);
  if (std::find(names.begin(), names.end(), resource) != names.end()) return {};
  const std::string_view nearest = Nearest(resource, names);
  return Fail(ErrorKind::kNotFound,
              Format("the configuration has no resource \"{}\"; {}", resource,
                     nearest.empty() ? ListNames(names) : Format("did you mean \"{}\"?", nearest)));
}

Status CheckResource(const Model& model, const std::string& resource,
                     const std::string& node_name) {
  const ResourceSpecs here = ResourcesFor(model, node_name);
  const auto is_it = [&](const auto& spec) { return spec->name == resource; };
  if (std::any_of(here.begin(), here.end(), is_it)) return {};
  TRY(CheckResourceName(model, resource));
  return Fail(ErrorKind::kPrecondition,
              Format("{} is not for the node \"{}\" (see on_nodes)", resource, node_name));
}

std::string LeftOutText(const Model& model, const std::string& node_name) {
  std::string text;
  for (const HiddenResource& hidden : HiddenFrom(model, ResourcesFor(model, node_name))) {
    std::string nodes;
    for (const std::string& pattern : hidden.on_nodes) {
      nodes += Format("{}\"{}\"", nodes.empty() ? "" : ", ", Printable(pattern));
    }
    text += Format("{}: not for this node ({}); on_nodes = [{}]\n", hidden.name,
                   Printable(node_name), nodes);
  }
  return text;
}

Result<std::vector<Inspection>> RunScan(const Model& model, const InspectOptions& options) {
  if (!options.resource.empty()) TRY(CheckResource(model, options.resource, options.node_name));
  const HostRoot host(model.daemon.host_root);
  const ResourceSpecs specs = ResourcesFor(model, options.node_name);
  std::vector<Inspection> inspections;
  const auto budget = std::make_shared<ScanBudget>();
  std::vector<std::shared_ptr<ScanCache>> caches;  // have what the inspections need of the budget
  for (const auto& spec : specs) {
    if (!options.resource.empty() && spec->name != options.resource) continue;
    ScanRequest request{.node_name = options.node_name,
                        .exclusive_above = ExclusiveResourcesAbove(*spec, specs),
                        .wanted = options.wanted,
                        .report = options.report,
                        .budget = budget};
    caches.push_back(request.cache);
    if (spec->net_device) {
      request.interfaces = NetDirectory(NetDirectoryFor(model.daemon.kubelet_dir))
                               .Read(std::chrono::system_clock::now());
    }
    Discovery discovery = Discover(*spec, host, request);
    std::vector<MatchReport> reports = std::move(discovery.reports);
    Inventory inventory(spec, options.node_name);
    inventory.MergeScan(std::move(discovery), std::chrono::steady_clock::now());
    inventory.Publish();
    inspections.push_back({inventory.snapshot(), std::move(reports)});
  }
  return inspections;
}

std::string WhyUnhealthy(const Snapshot& snapshot) {
  const auto unhealthy = std::ranges::find_if(snapshot.devices, [](const ListedDevice& listed) {
    return listed.health != Health::kHealthy;
  });
  if (unhealthy == snapshot.devices.end()) return "";
  return Format("the device \"{}\" is unhealthy: {}", unhealthy->device->id, unhealthy->reason);
}

std::string NotesText(const Snapshot& snapshot, const std::vector<std::string>& ids) {
  std::string text;
  for (const DeviceNote& note : snapshot.notes) {
    const bool is_wanted = ids.empty() || std::ranges::any_of(ids, [&](const std::string& id) {
                             const ListedDevice* const listed = FindAdvertised(snapshot, id).listed;
                             return listed != nullptr && listed->device->id == note.device;
                           });
    if (is_wanted) text += Format("note: {}: {}\n", Printable(note.device), Printable(note.text));
  }
  return text;
}

std::vector<std::string> HealthyUnits(const Snapshot& snapshot, std::size_t count) {
  const bool has_slots = snapshot.spec->api == Api::kDra;
  const int units_of_device = has_slots ? 1 : snapshot.spec->replicas;
  std::vector<std::string> ids;
  for (const ListedDevice& listed : snapshot.devices) {
    if (listed.health != Health::kHealthy) continue;
    for (int replica = 0; replica < units_of_device && ids.size() < count; ++replica) {
      ids.push_back(AdvertisedId(*snapshot.spec, listed.device->id, replica));
    }
  }
  return ids;
}

}  // namespace patchbay
