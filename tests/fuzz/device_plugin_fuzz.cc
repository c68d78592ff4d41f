// Input: a letter for the call of the kubelet, and its serialized message: (a)llocate, (p)referred
// allocation, pre-(s)tart.
//
// The calls go to the handlers of PluginService directly, without a server. The snapshot has
// devices that exist on every machine, one that is Unhealthy, and one without a node. Responses
// must be readable and may only contain units that were requested; errors must have one of the
// expected codes.

#include <algorithm>
#include <optional>
#include <set>

#include "base/escape.h"
#include "config/load.h"
#include "fake_call.h"
#include "fuzz.h"
#include "inventory/replica_ids.h"
#include "kubelet/plugin_service.h"
#include "quiet_protobuf.h"
#include "support/observed_resource.h"

using namespace patchbay;

namespace {

constexpr std::size_t kMaxInput = 64 * 1024;

constexpr std::string_view kResources = R"(
[[resource]]
name = "example.com/plain"
  [[resource.match]]
  path = "/dev/*"

[[resource]]
name = "example.com/shared"
replicas = 3
max_per_container = 2
preferred_allocation = "packed"
topology = true
cdi_devices = ["example.com/shared={id}"]
  [[resource.match]]
  path = "/dev/*"
  [[resource.device_node]]
  container_path = "/dev/shared{slot}"
  [[resource.mount]]
  host_path = "/opt/{id}"
  container_path = "/opt/{slot}"
  [resource.env]
  "PATH_{slot}" = "{path}"
  ALL = "{id}"
  [resource.annotations]
  "example.com/id" = "{id} {numa_node}"

[[resource]]
name = "example.com/spread"
preferred_allocation = "spread"
  [[resource.match]]
  path = "/dev/*"
  [resource.hooks.pre_start]
  command = ["/bin/wipe", "{path}", "{slot}"]
  [resource.hooks.release]
  command = ["/bin/wipe", "{id}"]
)";

DeviceNode Node(const std::string& path, unsigned minor) {
  return {path, path, FileType::kCharacter, 1, minor, {}};
}

/// Returns devices that exist on every machine, one that is Unhealthy, and one without a node.
Snapshot SnapshotOf(const ResourceSpec& spec) {
  Snapshot snapshot{std::make_shared<const ResourceSpec>(spec), 1, {}, {}};
  const auto add = [&](const std::string& name, unsigned minor, int numa_node,
                       Health health = Health::kHealthy) {
    Device device{.id = name, .nodes = {Node("/dev/" + name, minor)}, .numa_node = numa_node};
    snapshot.devices.push_back({std::make_shared<const Device>(std::move(device)), health,
                                health == Health::kHealthy ? "" : "it is broken"});
  };
  add("full", 7, 0), add("gone1", 99, 0), add("null", 3, 0);
  add("random", 8, 1, Health::kUnhealthy), add("urandom", 9, 1), add("zero", 5, 1);
  snapshot.topology = spec.topology;
  return snapshot;
}

/// One resource and its service, without a server.
struct Plugin {
  explicit Plugin(const ResourceSpec& spec) {
    auto snapshot = SnapshotOf(spec);
    for (const ListedDevice& listed : snapshot.devices) {
      for (int replica = 0; replica < spec.replicas; ++replica) {
        ids.insert(AdvertisedId(spec, listed.device->id, replica));
      }
    }
    cell->Set(std::make_shared<const Snapshot>(std::move(snapshot)));
  }

  const std::shared_ptr<SnapshotCell> cell = std::make_shared<SnapshotCell>();
  PluginService service{PluginBackend{.resource = "fuzz.dev/resource",
                                      .snapshot = cell,
                                      .observer = test::MakeObserver(),
                                      .allocation = {HostRoot(), "node-1"},
                                      .lookups = {},
                                      .on_stale_list = [] {}},
                        [](int, bool) {}};
  const RpcHandlers handlers = service.Handlers();
  std::set<std::string> ids;  ///< of all units
};

std::vector<std::unique_ptr<Plugin>> MakePlugins() {
  Loaded loaded = LoadTexts({{"fuzz.toml", std::string(kResources)}});
  fuzz::Require(loaded.model.has_value());
  std::vector<std::unique_ptr<Plugin>> plugins;
  for (const ResourceSpec& spec : loaded.model->resources) {
    plugins.push_back(std::make_unique<Plugin>(spec));
  }
  return plugins;
}

/// Makes a call. Returns the response, which must be readable, or nothing if the call failed with
/// one of the codes of Allocate.
template <class Response>
std::optional<Response> Call(Plugin& plugin, const std::string& method, std::string_view bytes) {
  fuzz::FakeCall call(bytes);
  plugin.handlers.at("/v1beta1.DevicePlugin/" + method).run(call);
  const grpc::StatusCode code = call.status().error_code();
  // UNAVAILABLE: without threads for lookups, only paths in the kernel's cache can be resolved.
  fuzz::Require(code == grpc::StatusCode::OK || code == grpc::StatusCode::INVALID_ARGUMENT ||
                code == grpc::StatusCode::NOT_FOUND ||
                code == grpc::StatusCode::FAILED_PRECONDITION ||
                code == grpc::StatusCode::UNAVAILABLE);
  return call.Read<Response>();
}

void Allocate(Plugin& plugin, std::string_view bytes) {
  v1beta1::AllocateRequest request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  const auto response = Call<v1beta1::AllocateResponse>(plugin, "Allocate", bytes);
  if (!response) return;
  fuzz::Require(response->container_responses_size() == request.container_requests_size());
  for (int i = 0; i < request.container_requests_size(); ++i) {
    const auto& ids = request.container_requests(i).devices_ids();
    const auto& container = response->container_responses(i);
    const std::set<std::string> different(ids.begin(), ids.end());
    for (const std::string& id : different) fuzz::Require(plugin.ids.contains(id));
    fuzz::Require(different.empty() == (container.ByteSizeLong() == 0));
    fuzz::Require(container.devices_size() <= std::ssize(different));
    std::set<std::string> paths;
    for (const auto& device : container.devices()) {
      fuzz::Require(device.container_path().starts_with("/dev/"));
      fuzz::Require(device.host_path().starts_with("/dev/") && device.permissions() == "rw");
      fuzz::Require(paths.insert(device.container_path()).second);
    }
  }
}

void Prefer(Plugin& plugin, std::string_view bytes) {
  v1beta1::PreferredAllocationRequest request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  const auto response =
      Call<v1beta1::PreferredAllocationResponse>(plugin, "GetPreferredAllocation", bytes);
  fuzz::Require(response.has_value());
  fuzz::Require(response->container_responses_size() == request.container_requests_size());
  for (int i = 0; i < request.container_requests_size(); ++i) {
    const auto& asked = request.container_requests(i);
    const auto& ids = response->container_responses(i).device_ids();
    std::set<std::string> offered(asked.available_device_ids().begin(),
                                  asked.available_device_ids().end());
    offered.insert(asked.must_include_device_ids().begin(), asked.must_include_device_ids().end());
    const std::set<std::string> chosen(ids.begin(), ids.end());
    fuzz::Require(std::ssize(chosen) == ids.size());
    fuzz::Require(ids.size() <= std::max(asked.allocation_size(), 0));
    fuzz::Require(std::includes(offered.begin(), offered.end(), chosen.begin(), chosen.end()));
  }
}

/// Plans the programs without running them.
void PreStart(Plugin& plugin, std::string_view bytes) {
  v1beta1::PreStartContainerRequest request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  const auto snapshot = plugin.cell->Get();
  const std::vector<std::string> ids(request.devices_ids().begin(), request.devices_ids().end());
  const auto units = FindUnits(*snapshot, ids, "node-1");
  if (!units) {
    fuzz::Require(units.error().kind == ErrorKind::kNotFound);
    return fuzz::Require(!Truncate(units.error().message, 1000).empty());
  }
  std::vector<Variables> variables;
  for (const Unit& unit : *units) variables.push_back(unit.variables);
  const auto call = PlanHook(Hook::kPreStart, *snapshot->spec, variables);
  fuzz::Require(call.has_value());
  fuzz::Require(call->commands.size() <= units->size());
  for (const HookCommand& command : call->commands) {
    fuzz::Require(plugin.ids.contains(command.id) && command.argv.front() == "/bin/wipe");
  }
  if (NeedsPreStart(*snapshot->spec)) return;  // the call would run the hook
  fuzz::Require(
      Call<v1beta1::PreStartContainerResponse>(plugin, "PreStartContainer", bytes).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > kMaxInput) return 0;
  static const auto plugins = MakePlugins();
  const std::string_view bytes = fuzz::Text(data, size).substr(1);
  for (const auto& plugin : plugins) {
    switch (data[0]) {
      case 'a': Allocate(*plugin, bytes); break;
      case 'p': Prefer(*plugin, bytes); break;
      case 's': PreStart(*plugin, bytes); break;
      default: return -1;
    }
  }
  return 0;
}
