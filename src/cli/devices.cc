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
#include "inventory/snapshot_json.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;
using Inspections = std::vector<Inspection>;

Json ProbeJson(const ProbeOutcome& outcome) {
  return {{"result", Name(outcome.result)},
          {"seconds", std::chrono::duration<double>(outcome.took).count()},
          {"reason", outcome.reason},
          {"output", Printable(outcome.output)}};
}

std::string RenderJson(const Inspections& inspections, const ProbeOutcomes& probes) {
  Json resources = Json::array();
  for (const auto& [snapshot, reports, mends] : inspections) {
    const SnapshotJson json(*snapshot);
    Json devices = Json::array();
    for (std::size_t i = 0; i < snapshot->devices.size(); ++i) {
      Json& device = devices.emplace_back(json.Device(i));
      const auto probe = probes.find({snapshot->spec->name, snapshot->devices[i].device->id});
      if (probe != probes.end()) device["probe"] = ProbeJson(probe->second);
    }
    resources.push_back({{"name", snapshot->spec->name},
                         {"devices", std::move(devices)},
                         {"rejected", json.Rejected()}});
  }
  return JsonText({{"resources", std::move(resources)}}, 2) + "\n";
}

/// Whether a probe has a say in it, which was not run here.
std::string HealthOf(const ListedDevice& listed, const ResourceSpec& spec) {
  return spec.health ? "not probed" : std::string(Name(listed.health));
}

/// Where to ask on about resources that have nothing to list.
std::string WhereToAsk(const Inspections& inspections) {
  std::string empty;
  for (const Inspection& inspection : inspections) {
    if (!inspection.snapshot->devices.empty()) continue;
    if (!empty.empty()) return "`patchbay explain` says why some have no device\n";
    empty = inspection.snapshot->spec->name;
  }
  return empty.empty() ? "" : format("`patchbay explain {}` says why it has no device\n", empty);
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
                         HealthOf(listed, *snapshot->spec),
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
  streams.err << LeftOutText(*model, NodeName());
  if (arguments.output == Output::kTable) streams.err << WhereToAsk(*inspections);
  const bool all_work = std::all_of(probes.begin(), probes.end(), [](const auto& probe) {
    return probe.second.result == ProbeResult::kSuccess;
  });
  return all_work ? kOk : kFailed;
}

}  // namespace patchbay
