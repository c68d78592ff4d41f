#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/diagnostics.h"
#include "base/format.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "cli/response_text.h"
#include "cli/run_scan.h"
#include "cli/slice_preview.h"
#include "cli/yaml.h"
#include "inventory/allocation_host.h"
#include "inventory/replica_ids.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

/// The response for a container, and the hooks that would run for it.
struct Allocated {
  ContainerResponse response;
  std::vector<HookCall> hooks;
  std::string notes;
  Api api = Api::kDevicePlugin;
};

/// Returns the hooks in the order in which they run.
Result<std::vector<HookCall>> HooksFor(const Snapshot& snapshot,
                                       const std::vector<std::string>& ids) {
  const std::string node_name = NodeName();
  const std::vector<Unit> units = TRY(FindUnits(snapshot, ids, node_name));
  std::vector<Variables> in_container, alone;
  for (const Unit& unit : units) {
    in_container.push_back(unit.variables);
    alone.push_back(VariablesOf(*unit.listed->device, snapshot.spec->name, node_name));
  }
  std::vector<HookCall> calls;
  for (const Hook hook : {Hook::kAllocate, Hook::kPreStart, Hook::kRelease}) {
    calls.push_back(
        TRY(PlanHook(hook, *snapshot.spec, hook == Hook::kRelease ? alone : in_container)));
  }
  return calls;
}

/// Returns the fields of ContainerAllocateResponse under their own names, and "hooks".
Json AllocatedJson(const Allocated& allocated) {
  const ContainerResponse& response = allocated.response;
  Json hooks = Json::array();
  for (const HookCall& call : allocated.hooks) {
    for (const HookCommand& command : call.commands) {
      hooks.push_back(
          {{"hook", Name(call.hook)}, {"device", command.id}, {"command", command.argv}});
    }
  }
  Json mounts = Json::array(), devices = Json::array(), cdi = Json::array();
  for (const auto& m : response.mounts) {
    mounts.push_back({{"container_path", m.container_path},
                      {"host_path", m.host_path},
                      {"read_only", m.read_only}});
  }
  for (const auto& d : response.devices) {
    devices.push_back({{"container_path", d.container_path},
                       {"host_path", d.host_path},
                       {"permissions", d.permissions}});
  }
  for (const auto& name : response.cdi_devices) cdi.push_back({{"name", name}});
  Json interfaces = Json::array();
  for (const auto& [move, hook] : response.networks) {
    interfaces.push_back({{"bus_device", move.interface.bus_device},
                          {"name", move.name.empty() ? Json() : Json(move.name)},
                          {"up", move.up},
                          {"mtu", move.mtu == 0 ? Json() : Json(move.mtu)},
                          {"addresses", move.addresses}});
  }
  Json json = {{"envs", Json::object()},
               {"mounts", std::move(mounts)},
               {"devices", std::move(devices)},
               {"annotations", Json::object()},
               {"cdi_devices", std::move(cdi)},
               {"hooks", std::move(hooks)},
               {"interfaces", std::move(interfaces)}};
  for (const auto& [key, value] : response.envs) json["envs"][key] = value;
  for (const auto& [key, value] : response.annotations) json["annotations"][key] = value;
  return json;
}

/// Replaces names in ResourceSlices by IDs. A claim names a device and not its slot, so an ID
/// without a slot becomes the first slot.
void ResolveNamesOfClaim(const std::shared_ptr<const Snapshot>& snapshot,
                         std::vector<std::string>& ids) {
  if (snapshot->spec->api != Api::kDra) return;
  for (std::string& id : ids) {
    if (FindAdvertised(*snapshot, id).listed == nullptr) {
      id = IdOfSliceName(snapshot, id).value_or(id);
    }
    if (FindDevice(*snapshot, id) != nullptr) id = AdvertisedId(*snapshot->spec, id, 0);
  }
}

Result<Allocated> AllocateOnHost(const Arguments& arguments, const Model& model) {
  const auto inspections =
      TRY(RunScan(model, {.node_name = NodeName(), .resource = arguments.resource}));
  const auto& snapshot = inspections.front().snapshot;
  std::vector<std::string> ids = arguments.ids;
  ResolveNamesOfClaim(snapshot, ids);
  for (auto id = ids.begin(); id != ids.end(); ++id) {
    if (std::find(ids.begin(), id, *id) == id) continue;
    return Fail(
        ErrorKind::kInvalid,
        Format("\"{}\" is listed twice; each device can be allocated once per container", *id));
  }
  if (ids.empty()) {
    const auto wanted = static_cast<std::size_t>(arguments.count.value_or(1));
    ids = HealthyUnits(*snapshot, wanted);
    if (ids.size() < wanted) {
      const std::string why = WhyUnhealthy(*snapshot);
      return Fail(
          ErrorKind::kPrecondition,
          Format("{0} has {1} healthy {4} but {2} were requested; {3}", arguments.resource,
                 ids.size(), wanted,
                 why.empty() ? Format("run `{}` to see why",
                                      HintCommand(arguments, "explain", {arguments.resource}))
                             : why,
                 snapshot->spec->api == Api::kDra ? "devices" : "units"));
    }
  }
  auto response =
      TRY(Allocate(*snapshot, ids, AllocationOn({HostRoot(model.daemon.host_root), NodeName()})));
  std::vector<HookCall> hooks = TRY(HooksFor(*snapshot, ids));
  const Api api = snapshot->spec->api;
  if (api == Api::kDra) response.annotations.clear();  // CDI has none for containers
  return Allocated{std::move(response), std::move(hooks), NotesText(*snapshot, ids), api};
}

}  // namespace

int RunAllocate(const Arguments& arguments, Streams streams) {
  const auto model = LoadOrReport(arguments, streams);
  if (!model) return kFailed;
  const auto allocated = AllocateOnHost(arguments, *model);
  if (!allocated) return ReportFailure(allocated.error(), streams);
  streams.err << allocated->notes;
  if (arguments.output != Output::kTable) {
    streams.out << ObjectText(AllocatedJson(*allocated), arguments.output);
    return kOk;
  }
  if (allocated->api == Api::kDra) {
    streams.err << "note: with api = \"dra\", the CDI file of a claim has this as edits of its "
                   "containers; annotations are left out\n";
  }
  streams.out << RenderResponse(allocated->response);
  for (const HookCall& call : allocated->hooks) streams.out << RenderHook(call);
  return kOk;
}

}  // namespace patchbay
