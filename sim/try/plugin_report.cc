#include "sim/try/plugin_report.h"

#include <algorithm>
#include <optional>
#include <ostream>

#include "base/format.h"
#include "cli/load.h"
#include "cli/response_text.h"
#include "cli/run_scan.h"
#include "cli/table.h"
#include "sim/try/host_report.h"

namespace patchbay {
namespace {

ContainerResponse FromMessage(const v1beta1::ContainerAllocateResponse& message) {
  ContainerResponse response;
  response.envs.insert(message.envs().begin(), message.envs().end());
  response.annotations.insert(message.annotations().begin(), message.annotations().end());
  for (const auto& m : message.mounts()) {
    response.mounts.push_back({m.container_path(), m.host_path(), m.read_only()});
  }
  for (const auto& d : message.devices()) {
    response.devices.push_back({d.container_path(), d.host_path(), d.permissions()});
  }
  for (const auto& c : message.cdi_devices()) response.cdi_devices.push_back(c.name());
  return response;
}

std::vector<std::string> StatusRow(const std::string& resource,
                                   const std::optional<ResourceView>& view) {
  if (!view) return {resource, "no"};
  std::vector<std::string> ids;
  for (const SimDevice& device : view->devices) ids.push_back(device.id);
  std::sort(ids.begin(), ids.end(), IdLess);
  std::string devices;
  for (std::size_t i = 0; i < std::min(ids.size(), kMaxDevicesShown); ++i) {
    devices += (i == 0 ? "" : " ") + ids[i];
  }
  if (ids.size() > kMaxDevicesShown) {
    devices += Format(" and {} more", ids.size() - kMaxDevicesShown);
  }
  return {resource, view->connected && view->lists > 0 ? "yes" : "no",
          std::to_string(view->capacity), std::to_string(view->allocatable),
          devices.empty() ? "(none)" : devices};
}

/// Starts the container that was allocated devices, if a resource requires PreStartContainer.
/// Returns whether it started.
bool ReportStart(KubeletSim& kubelet, const std::vector<std::string>& resources,
                 std::ostream& out) {
  const bool hooks = std::any_of(resources.begin(), resources.end(), [&](const auto& resource) {
    const auto view = kubelet.View(resource);
    return view && view->options.pre_start_required;
  });
  if (!hooks) return true;
  const Status started = kubelet.StartContainer("try", "container");
  out << "\n" << (started ? "The container starts" : started.error().message) << "\n";
  return started.has_value();
}

}  // namespace

bool IsListed(const KubeletSim& kubelet, const std::string& resource) {
  const auto view = kubelet.View(resource);
  return view && view->connected && view->lists > 0;
}

bool ReportPlugins(KubeletSim& kubelet, const Model& model,
                   const std::vector<std::string>& resources, Streams streams) {
  std::ostream& out = streams.out;
  std::vector<std::vector<std::string>> rows = {
      {"RESOURCE", "REGISTERED", "CAPACITY", "ALLOCATABLE", "DEVICES"}};
  for (const std::string& resource : resources) {
    rows.push_back(StatusRow(resource, kubelet.View(resource)));
  }
  const std::string left_out = LeftOutText(model, NodeName());
  out << RenderTable(rows, streams.colors_out) << (left_out.empty() ? "" : "\n") << left_out;

  bool well = true, has_devices = false;
  for (const std::string& resource : resources) {
    out << "\n";
    if (!IsListed(kubelet, resource)) {
      well = false;
      out << resource << " did not register\n";
      continue;
    }
    if (kubelet.View(resource)->allocatable == 0) {
      well = ReportNoDevices(model, resource, out) && well;
      continue;
    }
    const auto admitted = kubelet.Admit("try", "container", resource, 1);
    if (!admitted) {
      out << resource << ": " << admitted.error().message << "\n";
      well = false;
      continue;
    }
    out << "A container that requests 1 " << resource << " gets " << admitted->device_ids.front()
        << ":\n"
        << RenderResponse(FromMessage(admitted->response));
    ReportNotes(model, resource, admitted->device_ids, out);
    has_devices = true;
  }
  if (has_devices && !ReportStart(kubelet, resources, out)) well = false;
  out << std::flush;
  return well;
}

}  // namespace patchbay
