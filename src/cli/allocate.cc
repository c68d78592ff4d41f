#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/diagnostics.h"
#include "base/format.h"
#include "cli/commands.h"
#include "cli/inspect.h"
#include "cli/load.h"
#include "cli/response_text.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

/// The fields of ContainerAllocateResponse under their own names.
std::string RenderJson(const ContainerResponse& response) {
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
  Json json = {{"envs", Json::object()},
               {"mounts", std::move(mounts)},
               {"devices", std::move(devices)},
               {"annotations", Json::object()},
               {"cdi_devices", std::move(cdi)}};
  for (const auto& [key, value] : response.envs) json["envs"][key] = value;
  for (const auto& [key, value] : response.annotations) json["annotations"][key] = value;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<ContainerResponse> AllocateOnHost(const Arguments& arguments, const Model& model) {
  const auto inspections =
      TRY(InspectHost(model, {.node_name = NodeName(), .resource = arguments.resource}));
  const auto& snapshot = inspections.front().snapshot;
  std::vector<std::string> ids = arguments.ids;
  if (ids.empty()) {
    const auto wanted = static_cast<std::size_t>(arguments.count.value_or(1));
    ids = HealthyUnits(*snapshot, wanted);
    if (ids.size() < wanted) {
      return Fail(ErrorKind::kPrecondition, format("{} has only {} of {} healthy units",
                                                   arguments.resource, ids.size(), wanted));
    }
  }
  return Allocate(*snapshot, ids, AllocationOn(HostRoot(model.daemon.host_root), NodeName()));
}

}  // namespace

int RunAllocate(const Arguments& arguments, Streams streams) {
  const auto model = LoadOrReport(arguments, streams);
  if (!model) return kFailed;
  const auto response = AllocateOnHost(arguments, *model);
  if (!response) return ReportFailure(response.error(), streams);
  streams.out << (arguments.output == Output::kJson ? RenderJson(*response)
                                                    : RenderResponse(*response));
  return kOk;
}

}  // namespace patchbay
