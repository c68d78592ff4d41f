#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "config/load.h"
#include "dra/claim_plan.h"
#include "dra/claim_spec.h"
#include "dra/served_resource.h"
#include "unit/discovery/specs.h"

/// A container gets the same device nodes, mounts and env for a resource of the same file through
/// Allocate of the device plugin API and through the CDI file of a claim.

namespace patchbay {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::SizeIs;

constexpr char kParityPool[] = "node-1/pool";

/// Returns the names of the variables in the templates of a resource that a device must supply.
std::set<std::string> VariablesToSupply(const ResourceSpec& spec, std::size_t match) {
  const Device bare{.id = "x", .nodes = {{}}, .numa_node = 0};
  const Variables builtin = VariablesOf(bare);
  std::set<std::string> names;
  for (const Template* t : DeviceTemplates(spec, match)) {
    for (const Template::Field& field : t->fields()) {
      if (!builtin.Find(field.name)) names.insert(field.name);
    }
  }
  return names;
}

/// Makes up a device that the match could find. All values of its variables are distinct numbers,
/// which every template accepts.
Device MakeUpDevice(const ResourceSpec& spec, std::size_t match, int number) {
  Device device{.id = Format("dev-{}-{}", match, number), .nodes = {}, .match = match};
  const MatchSpec& source = spec.matches[match];
  const int nodes = !CanHaveNodes(source) ? 0 : source.group_by.empty() ? 1 : 2;
  int value = 1000 * (static_cast<int>(match) + 1) + 100 * number;
  for (int i = 0; i < nodes; ++i) {
    DeviceNode node;
    node.path = Format("/dev/made-up/{}", value);
    node.real_path = Format("/dev/real/{}", value);
    node.type = FileType::kCharacter;
    node.major = 240;
    node.minor = static_cast<unsigned>(value++);
    for (const std::string& name : VariablesToSupply(spec, match)) {
      node.values.emplace_back(name, std::to_string(value++));
    }
    device.nodes.push_back(std::move(node));
  }
  for (const std::string& name : VariablesToSupply(spec, match)) {
    device.values.emplace_back(name, std::to_string(value++));
  }
  if (spec.net_device) {
    device.interface = NetInterface{.bus_device = Format("/sys/devices/made-up/{}", device.id)};
  }
  return device;
}

/// Returns a snapshot with two made-up devices of each match, or one if it has at most one.
std::shared_ptr<const Snapshot> MakeUpSnapshot(const ResourceSpec& spec) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->spec = std::make_shared<const ResourceSpec>(spec);
  for (std::size_t match = 0; match < spec.matches.size(); ++match) {
    const int count = spec.matches[match].max_devices == 1 ? 1 : 2;
    for (int number = 0; number < count; ++number) {
      snapshot->devices.push_back(
          {std::make_shared<const Device>(MakeUpDevice(spec, match, number)), Health::kHealthy,
           ""});
    }
  }
  return snapshot;
}

/// A host that has every node, those of the devices with their numbers.
AllocationContext HostOf(const Snapshot& snapshot) {
  AllocationContext context;
  context.resolve = [&snapshot](const std::string& path) -> Result<HostNode> {
    for (const ListedDevice& listed : snapshot.devices) {
      for (const DeviceNode& node : listed.device->nodes) {
        if (node.path != path && node.real_path != path) continue;
        return HostNode{node.real_path, node.type, node.major, node.minor,
                        node.inode,     44,        1000,       0640};
      }
    }
    return HostNode{path, FileType::kCharacter, 1, 3, 0, 44, 1000, 0640};
  };
  context.holds = [](const HostNode&) { return true; };
  context.provide_group = [](std::uint32_t) { return Status(); };
  context.node_name = "node-1";
  return context;
}

/// Returns the edits that the response of Allocate means, as the container runtime reads them. The
/// runtime gives a node of a device plugin the numbers and the owner of the host's.
ordered_json ExpectedEdits(const ContainerResponse& response, const AllocationContext& host) {
  ordered_json edits = ordered_json::object();
  for (const auto& [name, value] : response.envs)
    edits["env"].push_back(Format("{}={}", name, value));
  for (const auto& device : response.devices) {
    ordered_json node = {{"path", device.container_path}};
    if (device.host_path != device.container_path) node["hostPath"] = device.host_path;
    const HostNode of_host = host.resolve(device.host_path).value();
    node["type"] = "c";
    node["major"] = of_host.major;
    node["minor"] = of_host.minor;
    node["fileMode"] = of_host.mode;
    node["uid"] = of_host.uid;
    node["gid"] = of_host.gid;
    node["permissions"] = device.permissions;
    edits["deviceNodes"].push_back(std::move(node));
  }
  for (const auto& mount : response.mounts) {
    edits["mounts"].push_back({{"hostPath", mount.host_path},
                               {"containerPath", mount.container_path},
                               {"options", {"rbind", mount.read_only ? "ro" : "rw"}}});
  }
  for (const auto& [move, hook] : response.networks) {
    edits["hooks"].push_back({{"hookName", "createRuntime"},
                              {"path", hook.path},
                              {"args", hook.args},
                              {"timeout", hook.timeout_s}});
  }
  if (edits.empty()) edits["env"].push_back("PATCHBAY_CLAIM=uid-1");
  return edits;
}

/// A device of a container: `count` of its replicas, from `first` on.
struct ParityUnits {
  const ListedDevice* listed = nullptr;
  int first = 0;
  int count = 1;
};

/// Compares both ways for a container with these units. Another claim has the replicas before them.
void ExpectSameContainer(const std::shared_ptr<const Snapshot>& snapshot,
                         std::span<const ParityUnits> units) {
  const ResourceSpec& spec = *snapshot->spec;
  const AllocationContext context = HostOf(*snapshot);
  std::vector<std::string> ids;
  ResourceClaim claim;
  claim.key = {"uid-1", "default", "mine"};
  claim.is_allocated = true;
  PreparedClaim other{.claim = {"uid-2", "default", "other"}, .requests = {{"r"}}};
  for (const ParityUnits& wanted : units) {
    const std::string& id = wanted.listed->device->id;
    for (int i = 0; i < wanted.count; ++i) {
      ids.push_back(AdvertisedId(spec, id, wanted.first + i));
    }
    claim.devices.push_back({.request = "r",
                             .pool = kParityPool,
                             .device = id,
                             .share_id = spec.replicas > 1 ? "mine" : "",
                             .slots = wanted.count});
    if (wanted.first == 0) continue;
    std::vector<int> replicas(static_cast<std::size_t>(wanted.first));
    std::iota(replicas.begin(), replicas.end(), 0);
    other.requests[0].devices.push_back({.pool = kParityPool,
                                         .device = id,
                                         .device_id = id,
                                         .share_id = "other",
                                         .replicas = std::move(replicas)});
  }
  const auto response = Allocate(*snapshot, ids, context);
  ASSERT_TRUE(response) << response.error().message;

  const NamedDevices named(snapshot);
  const ServedPools pools = {{kParityPool, &named}};
  const std::vector<const PreparedClaim*> prepared = {&other};
  const auto plan = PlanClaim(claim.key, claim, {"patchbay.dev", pools, prepared});
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_THAT(plan->requests, SizeIs(1));
  std::vector<std::string> planned;
  for (const PreparedDevice& device : plan->requests[0].devices) {
    for (const int replica : device.replicas) {
      planned.push_back(AdvertisedId(spec, device.device_id, replica));
    }
  }
  EXPECT_EQ(planned, ids);
  const auto rendered = RenderRequest(plan->requests[0], *snapshot, context);
  ASSERT_TRUE(rendered) << rendered.error().message;
  const auto file_spec = MakeClaimSpec("patchbay.dev", *plan, {&*rendered, 1});
  ASSERT_TRUE(file_spec) << file_spec.error().message;
  const auto text = CdiToJson(file_spec->file);
  ASSERT_TRUE(text) << text.error().message;
  const ordered_json file = ordered_json::parse(*text);
  ASSERT_THAT(file.at("devices"), SizeIs(1));
  const ordered_json expected = ExpectedEdits(*response, context);
  EXPECT_EQ(file.at("devices").at(0).at("containerEdits").dump(), expected.dump());

  std::vector<std::string> cdi_devices = response->cdi_devices;
  if (response->envs.size() + response->devices.size() + response->mounts.size() +
          response->networks.size() >
      0) {
    cdi_devices.insert(cdi_devices.begin(),
                       "patchbay.dev/claim=" + file_spec->file.devices.at(0).name);
  }
  EXPECT_EQ(file_spec->record.requests.at(0).cdi_devices, cdi_devices);
}

TEST(BothApis, GiveTheSameForEveryExample) {
  const std::string directory = std::string(PATCHBAY_SOURCE_DIR) + "/examples/configs";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".toml") continue;
    ++files;
    const Loaded loaded = LoadPaths({entry.path()});
    ASSERT_TRUE(loaded.model) << entry.path();
    ASSERT_FALSE(loaded.model->resources.empty()) << entry.path();
    for (const ResourceSpec& resource : loaded.model->resources) {
      SCOPED_TRACE(Format("{} of {}", resource.name, entry.path().filename().string()));
      const auto snapshot = MakeUpSnapshot(resource);
      std::vector<ParityUnits> units;
      for (const ListedDevice& device : snapshot->devices) {
        units.push_back({&device});
        ExpectSameContainer(snapshot, {&units.back(), 1});
        const ParityUnits last{.listed = &device, .first = resource.replicas - 1};
        ExpectSameContainer(snapshot, {&last, 1});
      }
      const auto all = resource.max_per_container == 0
                           ? units.size()
                           : std::min<std::size_t>(
                                 units.size(), static_cast<unsigned>(resource.max_per_container));
      ExpectSameContainer(snapshot, std::span(units).first(all));
    }
  }
  EXPECT_GT(files, 20);
}

TEST(BothApis, GiveTheSameTextWithEveryCharacter) {
  ResourceSpec spec = test::Resource({test::PathMatch({"/dev/made-up/*"})});
  spec.env.emplace_back(test::MakeTemplate("TEXT"), test::MakeTemplate("{TEXT}"));
  spec.env.emplace_back(test::MakeTemplate("NODE"), test::MakeTemplate("{path}"));
  spec.mounts.push_back({test::MakeTemplate("/srv/ü \"{name}\""), test::MakeTemplate("/mnt/{id}")});
  spec.cdi_devices.push_back(test::MakeTemplate("vendor.com/class={id}"));
  spec.env_separator = "";
  auto snapshot = std::make_shared<Snapshot>();
  for (int number = 0; number < 2; ++number) {
    Device device = MakeUpDevice(spec, 0, number);
    device.values = {};
    device.nodes[0].values = {{"TEXT", Format("{}=\"\\/\n\t\x01 ü 😀 ${{x}}\x7f", number)}};
    snapshot->devices.push_back(
        {std::make_shared<const Device>(std::move(device)), Health::kHealthy, ""});
  }
  snapshot->spec = std::make_shared<const ResourceSpec>(std::move(spec));
  const std::vector<ParityUnits> units{{&snapshot->devices[0]}, {&snapshot->devices[1]}};
  ExpectSameContainer(snapshot, units);
}

/// The rest of a resource with replicas, after its first match. Every text depends on the replica.
constexpr std::string_view kParityTexts = R"(
  [[resource.mount]]
  host_path = "/srv/{id}/{replica}"
  container_path = "/mnt/{slot}"
  [[resource.mount]]
  host_path = "/srv/replica-{replica:02}"
  container_path = "/run/{id}"
  read_only = false
  [resource.env]
  "UNIT_{slot}" = "{id} {replica}"
  "REPLICA_{replica}" = "{slot}"
  REPLICAS = "{replica} {index}"
)";

TEST(BothApis, GiveTheSameForEveryReplica) {
  constexpr std::string_view kNodes = R"(
  [[resource.device_node]]
  container_path = "/dev/thing{slot}-{name}-{replica}"
  permissions = "r"
  [[resource.device_node]]
  host_path = "/dev/control{replica}"
  optional = true
)";
  const struct {
    const char* what;
    std::string keys;
    std::string match;
    std::string_view nodes;
  } kResources[] = {
      {"nodes", "replicas = 3", "path = \"/dev/thing*\"", kNodes},
      {"groups of nodes", "replicas = 3",
       "regex = '/dev/thing(?P<card>[0-9]+)[a-z]'\ngroup_by = \"card\"", kNodes},
      {"no nodes", "replicas = 3", "count = 2", ""},
      {"one text for all devices", "replicas = 3\nenv_separator = \";\"", "path = \"/dev/thing*\"",
       ""},
      {"CDI devices", "replicas = 3\ncdi_devices = [\"vendor.com/class={id}-{replica}\"]",
       "path = \"/dev/thing*\"", ""},
      {"groups of users", "replicas = 3\ngrant_group = true", "path = \"/dev/thing*\"", kNodes},
      {"more replicas", "replicas = 12\nmax_per_container = 6", "path = \"/dev/thing*\"", kNodes},
  };
  // Pairs of the first replica and their number, for each of the devices.
  const std::vector<std::vector<std::pair<int, int>>> kContainers = {
      {{0, 1}}, {{1, 1}},         {{2, 1}},         {{0, 3}},
      {{1, 2}}, {{2, 1}, {2, 1}}, {{0, 3}, {0, 3}}, {{1, 2}, {0, 2}},
  };
  for (const auto& [what, keys, match, nodes] : kResources) {
    const Loaded loaded = LoadTexts(
        {{"parity.toml",
          Format("[[resource]]\nname = \"example.com/thing\"\n{}\n[[resource.match]]\n{}\n{}{}",
                 keys, match, nodes, kParityTexts)}});
    ASSERT_TRUE(loaded.model) << loaded.diagnostics.RenderText();
    const auto snapshot = MakeUpSnapshot(loaded.model->resources.at(0));
    for (const auto& container : kContainers) {
      std::vector<ParityUnits> units;
      for (const auto& [first, count] : container) {
        units.push_back({&snapshot->devices[units.size()], first, count});
      }
      SCOPED_TRACE(Format("{}: {} of {} devices, from replica {}", what, units[0].count,
                          units.size(), units[0].first));
      ExpectSameContainer(snapshot, units);
    }
  }
}

}  // namespace
}  // namespace patchbay
