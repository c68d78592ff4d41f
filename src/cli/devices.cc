// The tables leave out what is the same for all rows, such as the NUMA node. Problems have tables
// of their own, below that of the devices.

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/escape.h"
#include "base/format.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "cli/probe_once.h"
#include "cli/run_scan.h"
#include "cli/slice_preview.h"
#include "cli/table.h"
#include "cli/yaml.h"
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

/// Adds the entry in the ResourceSlice to each device, an empty one if it is not published.
void AddSliceEntries(const SlicePreview& preview, Json& devices) {
  std::map<std::string_view, const SliceDevice*> by_id;
  for (const auto& [id, entry] : preview.devices) by_id.emplace(id, &entry);
  for (Json& device : devices) {
    const auto found = by_id.find(device["id"].get_ref<const std::string&>());
    device.update(EntryJson(found == by_id.end() ? nullptr : found->second));
  }
}

/// Returns the health to print. A device that is present would be Healthy or Unhealthy depending on
/// its probe; `is_probed` is whether that was run.
std::string HealthOf(const ListedDevice& listed, const ResourceSpec& spec, bool is_probed) {
  const bool depends_on_probe = spec.health && listed.health == Health::kHealthy && !is_probed;
  return depends_on_probe ? "not probed" : std::string(Name(listed.health));
}

/// Returns the snapshot with the devices Unhealthy whose probe did not succeed.
std::shared_ptr<const Snapshot> WithProbes(const Snapshot& snapshot, const ProbeOutcomes& probes) {
  auto probed = std::make_shared<Snapshot>(snapshot);
  for (ListedDevice& listed : probed->devices) {
    const auto probe = probes.find({snapshot.spec->name, listed.device->id});
    if (probe == probes.end() || probe->second.result == ProbeResult::kSuccess) continue;
    if (listed.health != Health::kHealthy) continue;
    listed.health = Health::kUnhealthy;
    listed.reason = probe->second.reason;
  }
  return probed;
}

Json DevicesJson(const Inspections& inspections, const ProbeOutcomes& probes) {
  Json resources = Json::array();
  for (const Inspection& inspection : inspections) {
    const auto snapshot = WithProbes(*inspection.snapshot, probes);
    const SnapshotJson json(*snapshot);
    Json devices = Json::array();
    for (std::size_t i = 0; i < snapshot->devices.size(); ++i) {
      const ListedDevice& listed = snapshot->devices[i];
      const auto probe = probes.find({snapshot->spec->name, listed.device->id});
      Json& device = devices.emplace_back(json.Device(i));
      device["health"] = HealthOf(listed, *snapshot->spec, probe != probes.end());
      if (probe != probes.end()) device["probe"] = ProbeJson(probe->second);
    }
    const auto preview = PreviewSlices(snapshot, NodeName());
    if (preview) AddSliceEntries(*preview, devices);
    resources.push_back({{"name", snapshot->spec->name},
                         {"api", kApiNames[static_cast<std::size_t>(snapshot->spec->api)]},
                         {"devices", std::move(devices)},
                         {"rejected", json.Rejected()},
                         {"missing_mounts", json.MissingMounts()},
                         {"unused_excludes", json.UnusedExcludes()},
                         {"notes", json.Notes()}});
  }
  return {{"resources", std::move(resources)}};
}

/// Returns the IDs of the devices, one per line, as names for other commands.
std::string DeviceNames(const Inspections& inspections) {
  std::string names;
  for (const Inspection& inspection : inspections) {
    for (const ListedDevice& listed : inspection.snapshot->devices) {
      names += Printable(listed.device->id) + "\n";
    }
  }
  return names;
}

/// Returns a table to append to others; empty if it has no rows.
std::string Below(const std::vector<std::vector<std::string>>& rows, bool colored) {
  return rows.size() > 1 ? "\n" + RenderTable(rows, colored) : "";
}

/// Returns tables of unhealthy and rejected devices, missing mounts, useless excludes, and devices
/// that need attention: all problems that do not depend on probes.
std::string ProblemsText(const Inspections& inspections, bool colored) {
  std::vector<std::vector<std::string>> unhealthy = {{"RESOURCE", "UNHEALTHY", "REASON"}};
  std::vector<std::vector<std::string>> rejected = {{"RESOURCE", "REJECTED", "REASON"}};
  std::vector<std::vector<std::string>> mounts = {{"RESOURCE", "MISSING MOUNT", "REASON"}};
  std::vector<std::vector<std::string>> excludes = {{"RESOURCE", "EXCLUDE", "REASON"}};
  std::vector<std::vector<std::string>> notes = {{"RESOURCE", "NEEDS ATTENTION", "REASON"}};
  for (const auto& [snapshot, reports] : inspections) {
    const std::string& name = snapshot->spec->name;
    for (const UnusedExclude& exclude : snapshot->unused_excludes) {
      excludes.push_back({name, exclude.what, std::string(exclude.reason())});
    }
    for (const DeviceNote& note : snapshot->notes) notes.push_back({name, note.device, note.text});
    for (const ListedDevice& listed : snapshot->devices) {
      if (listed.health == Health::kHealthy) continue;
      unhealthy.push_back({name, listed.device->id, listed.reason});
    }
    for (const Rejection& rejection : snapshot->rejected) {
      rejected.push_back(
          {name, rejection.path, Format("{}: {}", Name(rejection.reason), rejection.detail)});
    }
    for (const auto& [path, detail] : snapshot->missing_mounts) {
      mounts.push_back({name, path, detail});
    }
  }
  return Below(unhealthy, colored) + Below(rejected, colored) + Below(mounts, colored) +
         Below(excludes, colored) + Below(notes, colored);
}

/// Returns a hint with the `explain` command for resources without devices.
std::string WhereToAsk(const Arguments& arguments, const Inspections& inspections) {
  std::string empty;
  for (const Inspection& inspection : inspections) {
    if (!inspection.snapshot->devices.empty()) continue;
    if (!empty.empty()) {
      return Format("run `{}` to see why some have no device\n", HintCommand(arguments, "explain"));
    }
    empty = inspection.snapshot->spec->name;
  }
  return empty.empty() ? ""
                       : Format("run `{}` to see why it has no device\n",
                                HintCommand(arguments, "explain", {empty}));
}

std::string NodesOf(const Device& device) {
  if (device.interface) {
    return Format("{}{}", InterfaceNameOf(device), IsAway(device) ? " (in a pod)" : "");
  }
  std::string paths;
  for (const DeviceNode& node : device.nodes) {
    paths += paths.empty() ? node.path : "," + node.path;
    if (node.real_path != node.path) paths += " -> " + node.real_path;
  }
  return paths.empty() ? "-" : paths;
}

std::string RenderText(const Inspections& inspections, bool colored) {
  std::vector<std::vector<std::string>> devices = {
      {"RESOURCE", "DEVICE", "UNITS", "HEALTH", "NUMA", "PATH"}};
  bool any_numa_node = false;
  for (const auto& [snapshot, reports] : inspections) {
    const std::string& name = snapshot->spec->name;
    if (snapshot->devices.empty()) devices.push_back({name, "(none)"});
    for (const ListedDevice& listed : snapshot->devices) {
      const auto& numa_node = listed.device->numa_node;
      any_numa_node = any_numa_node || numa_node;
      devices.push_back({name, listed.device->id, std::to_string(snapshot->spec->replicas),
                         HealthOf(listed, *snapshot->spec, false),
                         numa_node ? std::to_string(*numa_node) : "-", NodesOf(*listed.device)});
    }
  }
  constexpr std::size_t kNuma = 4;
  for (auto& row : devices) {
    if (!any_numa_node && row.size() > kNuma) row.erase(row.begin() + kNuma);
  }
  return RenderTable(devices, colored) + ProblemsText(inspections, colored);
}

}  // namespace

int RunDevices(const Arguments& arguments, Streams streams) {
  const auto model = LoadOrReport(arguments, streams);
  if (!model) return kFailed;
  const auto inspections =
      RunScan(*model, {.node_name = NodeName(), .resource = arguments.resource});
  if (!inspections) return ReportFailure(inspections.error(), streams);
  ProbeOutcomes probes;
  if (arguments.probe) {
    auto cancellation = Cancellation::Create();
    if (!cancellation) return ReportFailure(cancellation.error(), streams);
    probes = ProbeAll(*inspections, model->daemon, NodeName(),
                      std::make_shared<const Cancellation>(std::move(*cancellation)));
  }
  const bool colored = streams.colors_out;
  switch (arguments.output) {
    case Output::kJson:
    case Output::kYaml:
      streams.out << ObjectText(DevicesJson(*inspections, probes), arguments.output);
      break;
    case Output::kName: streams.out << DeviceNames(*inspections); break;
    case Output::kTable:
      streams.out << (arguments.probe ? ProbeText(*inspections, probes, colored) +
                                            ProblemsText(*inspections, colored)
                                      : RenderText(*inspections, colored));
  }
  if (arguments.resource.empty()) streams.err << LeftOutText(*model, NodeName());
  if (arguments.output == Output::kTable) streams.err << WhereToAsk(arguments, *inspections);
  return AllWork(probes) ? kOk : kFailed;
}

}  // namespace patchbay
