#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "config/load.h"
#include "dra/claim_edits.h"
#include "dra/claim_plan.h"
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
  Device device{.id = format("dev-{}-{}", match, number), .nodes = {}, .match = match};
  const MatchSpec& source = spec.matches[match];
  const int nodes = !CanHaveNodes(source) ? 0 : source.group_by.empty() ? 1 : 2;
  int value = 1000 * (static_cast<int>(match) + 1) + 100 * number;
  for (int i = 0; i < nodes; ++i) {
    DeviceNode node;
    node.path = format("/dev/made-up/{}", value);
    node.real_path = format("/dev/real/{}", value);
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
  return device;
}

/// Returns a snapshot with two made-up devices of each match.
std::shared_ptr<const Snapshot> MakeUpSnapshot(const ResourceSpec& spec) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->spec = std::make_shared<const ResourceSpec>(spec);
  for (std::size_t match = 0; match < spec.matches.size(); ++match) {
    for (int number = 0; number < 2; ++number) {
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
        if (node.path != path) continue;
        return HostNode{node.real_path, node.type, node.major, node.minor, node.inode, 44};
      }
    }
    return HostNode{path, FileType::kCharacter, 1, 3, 0, 44};
  };
  context.holds = [](const HostNode&) { return true; };
  context.provide_group = [](std::uint32_t) { return Status(); };
  context.node_name = "node-1";
  return context;
}

/// Returns the edits that the response of Allocate means, as the container runtime reads them.
ordered_json ExpectedEdits(const ContainerResponse& response) {
  ordered_json edits = ordered_json::object();
  for (const auto& [name, value] : response.envs)
    edits["env"].push_back(format("{}={}", name, value));
  for (const auto& device : response.devices) {
    ordered_json node = {{"path", device.container_path}};
    if (device.host_path != device.container_path) node["hostPath"] = device.host_path;
    node["permissions"] = device.permissions;
    edits["deviceNodes"].push_back(std::move(node));
  }
  for (const auto& mount : response.mounts) {
    edits["mounts"].push_back({{"hostPath", mount.host_path},
                               {"containerPath", mount.container_path},
                               {"options", {"rbind", mount.read_only ? "ro" : "rw"}}});
  }
  if (edits.empty()) edits["env"].push_back("PATCHBAY_CLAIM=uid-1");
  return edits;
}

/// Compares both ways for these devices of a snapshot.
void ExpectSameContainer(const std::shared_ptr<const Snapshot>& snapshot,
                         std::span<const ListedDevice> devices) {
  const AllocationContext context = HostOf(*snapshot);
  std::vector<std::string> ids;
  ClaimRequest request{{"uid-1", "default", "mine"}, ResourceClaim()};
  request.claim->key = request.key;
  request.claim->is_allocated = true;
  for (const ListedDevice& listed : devices) {
    ids.push_back(AdvertisedId(*snapshot->spec, listed.device->id, 0));
    request.claim->devices.push_back(
        {.request = "r", .pool = kParityPool, .device = listed.device->id});
  }
  const auto response = Allocate(*snapshot, ids, context);
  ASSERT_TRUE(response) << response.error().message;

  const NamedDevices named(snapshot);
  const auto plans = PlanClaims({&request, 1}, "patchbay.dev", {{kParityPool, &named}}, {});
  ASSERT_TRUE(plans[0]) << plans[0].error().message;
  ASSERT_THAT(plans[0]->requests, SizeIs(1));
  const auto rendered = RenderRequest(plans[0]->requests[0], *snapshot, context);
  ASSERT_TRUE(rendered) << rendered.error().message;
  const auto spec = ClaimSpec("patchbay.dev", *plans[0], {&*rendered, 1});
  ASSERT_TRUE(spec) << spec.error().message;
  const auto text = CdiToJson(*spec);
  ASSERT_TRUE(text) << text.error().message;
  const ordered_json file = ordered_json::parse(*text);
  ASSERT_THAT(file.at("devices"), SizeIs(1));
  const ordered_json expected = ExpectedEdits(*response);
  EXPECT_EQ(file.at("devices").at(0).at("containerEdits").dump(), expected.dump());

  const auto prepared = ReadClaimSpec(*spec, "patchbay.dev", "uid-1");
  ASSERT_TRUE(prepared) << prepared.error().message;
  std::vector<std::string> cdi_devices = response->cdi_devices;
  if (response->envs.size() + response->devices.size() + response->mounts.size() > 0) {
    cdi_devices.insert(cdi_devices.begin(), "patchbay.dev/claim=uid-1-r");
  }
  EXPECT_EQ(AnswerFor(*prepared).at(0).cdi_devices, cdi_devices);
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
      SCOPED_TRACE(format("{} of {}", resource.name, entry.path().filename().string()));
      const auto snapshot = MakeUpSnapshot(resource);
      const std::span<const ListedDevice> devices = snapshot->devices;
      for (const ListedDevice& device : devices) ExpectSameContainer(snapshot, {&device, 1});
      const auto all = resource.max_per_container == 0
                           ? devices.size()
                           : std::min<std::size_t>(
                                 devices.size(), static_cast<unsigned>(resource.max_per_container));
      ExpectSameContainer(snapshot, devices.first(all));
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
    device.values.clear();
    device.nodes[0].values = {{"TEXT", format("{}=\"\\/\n\t\x01 ü 😀 ${{x}}\x7f", number)}};
    snapshot->devices.push_back(
        {std::make_shared<const Device>(std::move(device)), Health::kHealthy, ""});
  }
  snapshot->spec = std::make_shared<const ResourceSpec>(std::move(spec));
  ExpectSameContainer(snapshot, snapshot->devices);
}

}  // namespace
}  // namespace patchbay
