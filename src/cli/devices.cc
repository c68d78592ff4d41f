#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/escape.h"
#include "base/format.h"
#include "cli/commands.h"
#include "cli/inspect.h"
#include "cli/load.h"
#include "cli/probing.h"
#include "cli/table.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;
using Inspections = std::vector<Inspection>;

Json VariablesJson(const Snapshot& snapshot, std::size_t index) {
  const Device& device = *snapshot.devices[index].device;
  Variables variables = VariablesOf(device);
  variables.resource = snapshot.spec->name;
  variables.id = device.id;
  variables.index = static_cast<std::int64_t>(index);
  Json json = Json::object();
  for (const MatchSpec& match : snapshot.spec->matches) {
    for (const Variable& variable : SuppliedBy(match)) {
      // Of the container and of the node, not of the device.
      if (variable.name == "slot" || variable.name == "replica" || variable.name == "node_name") {
        continue;
      }
      const auto value = variables.Find(variable.name);
      if (!value) continue;
      std::visit([&](const auto& v) { json[variable.name] = v; }, *value);
    }
  }
  return json;
}

Json ProbeJson(const ProbeOutcome& outcome) {
  return {{"result", Name(outcome.result)},
          {"seconds", std::chrono::duration<double>(outcome.took).count()},
          {"reason", outcome.reason},
          {"output", Printable(outcome.output)}};
}

Json DeviceJson(const Snapshot& snapshot, std::size_t index, const ProbeOutcomes& probes) {
  const ListedDevice& listed = snapshot.devices[index];
  Json paths = Json::array();
  for (const DeviceNode& node : listed.device->nodes) paths.push_back(node.path);
  const auto& numa_node = listed.device->numa_node;
  Json json = {{"id", listed.device->id},
               {"health", Name(listed.health)},
               {"reason", listed.reason},
               {"paths", std::move(paths)},
               {"numa_node", numa_node ? Json(*numa_node) : Json()},
               {"variables", VariablesJson(snapshot, index)}};
  const auto probe = probes.find({snapshot.spec->name, listed.device->id});
  if (probe != probes.end()) json["probe"] = ProbeJson(probe->second);
  return json;
}

std::string RenderJson(const Inspections& inspections, const ProbeOutcomes& probes) {
  Json resources = Json::array();
  for (const auto& [snapshot, reports, mends] : inspections) {
    Json devices = Json::array(), rejected = Json::array();
    for (std::size_t i = 0; i < snapshot->devices.size(); ++i) {
      devices.push_back(DeviceJson(*snapshot, i, probes));
    }
    for (const Rejection& rejection : snapshot->rejected) {
      rejected.push_back({{"path", Printable(rejection.path)},
                          {"reason", format("{}: {}", Name(rejection.reason), rejection.detail)}});
    }
    resources.push_back({{"name", snapshot->spec->name},
                         {"devices", std::move(devices)},
                         {"rejected", std::move(rejected)}});
  }
  return Json{{"resources", std::move(resources)}}.dump(2, ' ', false,
                                                        Json::error_handler_t::replace) +
         "\n";
}

std::string NodesOf(const Device& device) {
  std::string paths;
  for (const DeviceNode& node : device.nodes) {
    paths += paths.empty() ? node.path : "," + node.path;
    if (node.real_path != node.path) paths += " -> " + node.real_path;
  }
  return paths.empty() ? "-" : paths;
}

std::string RenderText(const Inspections& inspections) {
  std::vector<std::vector<std::string>> devices = {
      {"RESOURCE", "DEVICE", "UNITS", "HEALTH", "NUMA", "PATH"}};
  bool any_numa_node = false;
  std::vector<std::vector<std::string>> rejected = {{"RESOURCE", "REJECTED", "REASON"}};
  for (const auto& [snapshot, reports, mends] : inspections) {
    const std::string& name = snapshot->spec->name;
    if (snapshot->devices.empty()) devices.push_back({name, "(none)"});
    for (const ListedDevice& listed : snapshot->devices) {
      const auto& numa_node = listed.device->numa_node;
      any_numa_node = any_numa_node || numa_node;
      devices.push_back({name, listed.device->id, std::to_string(snapshot->spec->replicas),
                         std::string(Name(listed.health)),
                         numa_node ? std::to_string(*numa_node) : "-", NodesOf(*listed.device)});
    }
    for (const Rejection& rejection : snapshot->rejected) {
      rejected.push_back(
          {name, rejection.path, format("{}: {}", Name(rejection.reason), rejection.detail)});
    }
  }
  constexpr std::size_t kNuma = 4;
  for (auto& row : devices) {
    if (!any_numa_node && row.size() > kNuma) row.erase(row.begin() + kNuma);
  }
  return RenderTable(devices) + (rejected.size() > 1 ? "\n" + RenderTable(rejected) : "");
}

}  // namespace

int RunDevices(const Arguments& arguments, Streams streams) {
  const auto model = LoadOrReport(arguments, streams);
  if (!model) return kFailed;
  const auto inspections = InspectHost(*model, {.node_name = NodeName()});
  if (!inspections) return ReportFailure(inspections.error(), streams);
  ProbeOutcomes probes;
  if (arguments.probe) {
    auto all = ProbeAll(*inspections, model->daemon, NodeName());
    if (!all) return ReportFailure(all.error(), streams);
    probes = std::move(*all);
  }
  streams.out << (arguments.output == Output::kJson ? RenderJson(*inspections, probes)
                  : arguments.probe                 ? ProbeText(*inspections, probes)
                                                    : RenderText(*inspections));
  const bool all_work = std::all_of(probes.begin(), probes.end(), [](const auto& probe) {
    return probe.second.result == ProbeResult::kSuccess;
  });
  return all_work ? kOk : kFailed;
}

}  // namespace patchbay
