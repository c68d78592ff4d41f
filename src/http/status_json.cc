// The text is composed of parts: a tree of all devices would take ten times the memory of the text.
// Objects that get further members are written without their last brace.

#include "http/status_json.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/utc_text.h"
#include "inventory/snapshot_json.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

/// More diagnostics than this are counted.
constexpr std::size_t kMaxDiagnostics = 100;

Json TimeJson(std::optional<WallTime> time) { return time ? Json(UtcText(*time)) : Json(); }

double SecondsOf(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

Json ConfigJson(const ConfigStatus& config) {
  const ConfigReading last = config.last ? *config.last : ConfigReading();
  Json diagnostics = Json::array();
  const std::size_t shown = std::min(last.diagnostics.size(), kMaxDiagnostics);
  for (std::size_t i = 0; i < shown; ++i) {
    diagnostics.push_back(DiagnosticJson(last.diagnostics[i]));
  }
  return {{"path", config.path},
          {"successful", last.accepted},
          {"reason", last.reason},
          {"loaded_at", TimeJson(config.loaded_at)},
          {"read_at", config.last ? TimeJson(last.at) : Json()},
          {"diagnostics", std::move(diagnostics)},
          {"diagnostics_left_out", last.diagnostics.size() - shown}};
}

Json KubeletJson(const KubeletStatus& kubelet) {
  const auto& asked = kubelet.pod_resources_up;
  return {{"up", kubelet.up},
          {"up_changed_at", TimeJson(kubelet.up_changed_at)},
          {"socket", kubelet.socket},
          {"restarts", kubelet.restarts},
          {"pod_resources_up", asked ? Json(*asked) : Json()}};
}

/// Null before the first report of device usage.
Json HoldersJson(const PodUsage* usage, const std::string& device) {
  if (usage == nullptr) return nullptr;
  Json holders = Json::array();
  const auto found = usage->holders.find(device);
  if (found == usage->holders.end()) return holders;
  for (const Holder& holder : found->second) {
    holders.push_back({{"namespace", holder.pod_namespace},
                       {"pod", holder.pod},
                       {"container", holder.container}});
  }
  return holders;
}

Json ProbeJson(const std::optional<LastProbe>& probe) {
  if (!probe) return nullptr;
  return {{"at", TimeJson(probe->at)},
          {"seconds", SecondsOf(probe->took)},
          {"result", Name(probe->result)},
          {"message", probe->message}};
}

/// The settings of a probe; null if the resource has none.
Json ProbeSettingsJson(const std::optional<ProbeSpec>& probe) {
  if (!probe) return nullptr;
  Json command = Json::array();
  std::string file;
  if (const auto* program = std::get_if<CommandProbe>(&probe->kind)) {
    for (const Template& argument : program->argv) command.push_back(argument.text());
  } else if (const auto* read = std::get_if<FileProbe>(&probe->kind)) {
    file = read->path.text();
  }
  return {{"kind", !command.empty() ? "command"
                   : !file.empty()  ? "file"
                                    : "open"},
          {"command", std::move(command)},
          {"file", std::move(file)},
          {"period_seconds", SecondsOf(probe->period)},
          {"timeout_seconds", SecondsOf(probe->timeout)},
          {"initial_delay_seconds", SecondsOf(probe->initial_delay)},
          {"failure_threshold", probe->failure_threshold},
          {"success_threshold", probe->success_threshold},
          {"before_first", Name(probe->before_first)}};
}

Json ExplanationJson(const ResourceStatus& resource) {
  Json explanation = Json::array();
  const bool has_devices = resource.snapshot && !resource.snapshot->devices.empty();
  if (!resource.explanation || has_devices) return explanation;
  for (const MatchSummary& summary : *resource.explanation) {
    explanation.push_back({{"match", summary.match}, {"lines", summary.lines}});
  }
  return explanation;
}

Json HiddenJson(const HiddenResources* hidden) {
  Json resources = Json::array();
  if (hidden == nullptr) return resources;
  for (const HiddenResource& resource : *hidden) {
    resources.push_back({{"name", resource.name},
                         {"description", resource.description},
                         {"on_nodes", resource.on_nodes}});
  }
  return resources;
}

/// Newest first.
Json TransitionsJson(const TransitionHistory* history) {
  Json transitions = Json::array();
  if (history == nullptr) return transitions;
  const auto health = [](const std::optional<Health>& of) { return of ? Json(Name(*of)) : Json(); };
  for (auto at = history->rbegin(); at != history->rend(); ++at) {
    const Transition& transition = **at;
    transitions.push_back({{"at", TimeJson(transition.at)},
                           {"resource", transition.resource},
                           {"device", transition.device},
                           {"from", health(transition.from)},
                           {"to", health(transition.to)},
                           {"reason", transition.reason}});
  }
  return transitions;
}

Json ScanJson(const std::optional<ScanStatus>& scan) {
  if (!scan) return nullptr;
  return {
      {"at", TimeJson(scan->at)}, {"seconds", SecondsOf(scan->took)}, {"complete", scan->complete}};
}

Json ClaimJson(const DraClaimStatus& claim) {
  Json devices = Json::array();
  for (const DraClaimDevice& device : claim.devices) {
    devices.push_back({{"resource", device.resource},
                       {"device", device.device_id},
                       {"request", device.request},
                       {"admin_access", device.admin_access}});
  }
  return {{"uid", claim.uid},
          {"namespace", claim.namespace_name},
          {"name", claim.name},
          {"devices", std::move(devices)}};
}

/// Null if no resource is served by Dynamic Resource Allocation.
Json DraJson(const DraStatus* dra) {
  if (dra == nullptr) return nullptr;
  Json claims = Json::array();
  for (const DraClaimStatus& claim : dra->claims) claims.push_back(ClaimJson(claim));
  return {
      {"driver", dra->driver},
      {"registered", dra->registered},
      {"registration_error", dra->registration_error},
      {"api_server",
       {{"url", dra->api_server}, {"up", dra->api_server_up}, {"error", dra->api_server_error}}},
      {"dropped_fields", dra->dropped_fields},
      {"claims", std::move(claims)}};
}

/// Returns the pool of a resource; null if the device plugin API serves it.
const DraPoolStatus* PoolOf(const DraStatus* dra, const std::string& resource) {
  if (dra == nullptr) return nullptr;
  const auto found = dra->resources.find(resource);
  return found == dra->resources.end() ? nullptr : &found->second;
}

Json PoolJson(const DraPoolStatus* pool) {
  if (pool == nullptr) return nullptr;
  const std::size_t shown = std::min(pool->problems.size(), kMaxDiagnostics);
  const auto first = pool->problems.begin();
  return {{"pool", pool->pool},
          {"device_class", pool->device_class},
          {"devices", pool->devices},
          {"slices", pool->slices},
          {"generation", pool->generation},
          {"current", pool->is_current},
          {"error", pool->error},
          {"not_served", pool->not_served},
          {"taints", Json(pool->taints)},
          {"problems", std::vector(first, first + static_cast<std::ptrdiff_t>(shown))},
          {"problems_left_out", pool->problems.size() - shown}};
}

Api ApiOf(const ResourceStatus& resource, const DraPoolStatus* pool) {
  if (resource.snapshot != nullptr) return resource.snapshot->spec->api;
  return pool != nullptr ? Api::kDra : Api::kDevicePlugin;
}

/// The fields of a resource without its lists.
Json HeadJson(const std::string& name, const ResourceStatus& resource, const DraPoolStatus* pool) {
  const Snapshot* snapshot = resource.snapshot.get();
  const auto replicas =
      static_cast<std::size_t>(snapshot != nullptr ? snapshot->spec->replicas : 1);
  std::size_t devices = 0, healthy = 0;
  if (snapshot != nullptr) {
    devices = snapshot->devices.size();
    healthy = static_cast<std::size_t>(
        std::count_if(snapshot->devices.begin(), snapshot->devices.end(),
                      [](const auto& listed) { return listed.health == Health::kHealthy; }));
  }
  return {{"name", name},
          {"description", snapshot != nullptr ? snapshot->spec->description : ""},
          {"api", kApiNames[static_cast<std::size_t>(ApiOf(resource, pool))]},
          {"dra", PoolJson(pool)},
          {"registered", resource.registration.state == RegistrationState::kRegistered},
          {"state", Name(resource.registration.state)},
          {"state_reason", resource.registration.reason},
          {"registered_changed_at", TimeJson(resource.registered_changed_at)},
          {"streams", resource.streams},
          {"replicas", replicas},
          {"capacity", devices * replicas},
          {"allocatable", healthy * replicas},
          {"in_use", resource.usage ? Json(resource.usage->units) : Json()},
          {"last_scan", ScanJson(resource.last_scan)},
          {"probe", snapshot != nullptr ? ProbeSettingsJson(snapshot->spec->health) : Json()},
          {"explanation", ExplanationJson(resource)}};
}

/// The text of an object without the last brace, so that members can be appended.
std::string WithoutBrace(const Json& object) {
  std::string text = JsonText(object);
  text.pop_back();
  return text;
}

/// Writes one device at a time: a tree of all devices takes ten times the memory of the text.
void AppendResource(std::string& text, const std::string& name, const ResourceStatus& resource,
                    const DraPoolStatus* pool) {
  text += WithoutBrace(HeadJson(name, resource, pool)) + ",\"devices\":[";
  if (resource.snapshot == nullptr) {
    text += "],\"rejected\":[],\"missing_mounts\":[],\"unused_excludes\":[],\"notes\":[]}";
    return;
  }
  const Snapshot& snapshot = *resource.snapshot;
  const SnapshotJson json(snapshot);
  for (std::size_t i = 0; i < snapshot.devices.size(); ++i) {
    Json device = json.Device(i);
    const std::string& id = snapshot.devices[i].device->id;
    device["in_use_by"] = HoldersJson(resource.usage.get(), id);
    device["last_probe"] = ProbeJson(resource.probes->Find(id));
    device["next_probe"] = TimeJson(resource.probes->Next(id));
    if (i > 0) text += ",";
    text += JsonText(device);
  }
  text += "],\"rejected\":" + JsonText(json.Rejected()) +
          ",\"missing_mounts\":" + JsonText(json.MissingMounts()) +
          ",\"unused_excludes\":" + JsonText(json.UnusedExcludes()) +
          ",\"notes\":" + JsonText(json.Notes()) + "}";
}

}  // namespace

std::string StatusJson(const NodeStatus& status, WallTime now) {
  std::string text = WithoutBrace({{"generated_at", TimeJson(now)},
                                   {"version", status.version},
                                   {"revision", status.revision},
                                   {"node", status.node_name},
                                   {"suggest_page", status.suggest_page},
                                   {"config", ConfigJson(status.config)},
                                   {"kubelet", KubeletJson(status.kubelet)},
                                   {"dra", DraJson(status.dra.get())}});
  text += ",\"resources\":[";
  bool first = true;
  for (const auto& [name, resource] : status.resources) {
    if (!std::exchange(first, false)) text += ",";
    AppendResource(text, name, resource, PoolOf(status.dra.get(), name));
  }
  return text + "],\"hidden_resources\":" + JsonText(HiddenJson(status.hidden.get())) +
         ",\"transitions\":" + JsonText(TransitionsJson(status.transitions.get())) + "}\n";
}

}  // namespace patchbay
