#include "kubelet/proto_convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "base/format.h"

namespace patchbay {
namespace {

using testing::ElementsAre;

Snapshot Devices(int count, int replicas = 1, std::size_t id_bytes = 8) {
  auto spec = std::make_shared<ResourceSpec>();
  spec->replicas = replicas;
  Snapshot snapshot{std::move(spec), 1, {}, {}};
  for (int i = 0; i < count; ++i) {
    auto device = std::make_shared<Device>();
    device->id = Format("{:0>{}}", i, id_bytes);
    snapshot.devices.push_back({std::move(device), Health::kHealthy, ""});
  }
  return snapshot;
}

/// Assigns the devices to these NUMA nodes in turn.
Snapshot OnNumaNodes(Snapshot snapshot, const std::vector<int>& nodes) {
  for (std::size_t i = 0; i < snapshot.devices.size(); ++i) {
    Device device = *snapshot.devices[i].device;
    device.numa_node = nodes[i % nodes.size()];
    snapshot.devices[i].device = std::make_shared<const Device>(std::move(device));
  }
  snapshot.topology = true;
  return snapshot;
}

TEST(ListMessage, ListsEveryDeviceInOrder) {
  Snapshot snapshot = Devices(3, 1, 1);
  snapshot.devices[1].health = Health::kUnhealthy;
  const auto message = ListMessage(snapshot);
  ASSERT_EQ(message.devices_size(), 3);
  EXPECT_EQ(message.devices(0).id(), "0");
  EXPECT_EQ(message.devices(0).health(), "Healthy");
  EXPECT_EQ(message.devices(1).id(), "1");
  EXPECT_EQ(message.devices(1).health(), "Unhealthy");
  EXPECT_FALSE(message.devices(0).has_topology());
}

TEST(ListMessage, AcceptsAnEmptyList) {
  EXPECT_EQ(ListMessage(Devices(0)).ByteSizeLong(), 0U);
  EXPECT_EQ(UnitsThatFit(Devices(0)), 0U);
}

TEST(ListMessage, ListsEveryReplica) {
  const auto message = ListMessage(Devices(2, 3, 1));
  std::vector<std::string> ids;
  for (const auto& device : message.devices()) ids.push_back(device.id());
  EXPECT_THAT(ids, ElementsAre("0::0", "0::1", "0::2", "1::0", "1::1", "1::2"));
}

// The limit is exact: the omitted units would not have fit.
TEST(ListMessage, IsTruncatedExactlyAtTheLimit) {
  for (const std::size_t id_bytes : {1, 8, 36, 63}) {
    for (const int replicas : {1, 7, 40}) {
      const std::size_t bytes = replicas == 1 ? id_bytes : std::min<std::size_t>(id_bytes, 57);
      const int count = 250'000 / replicas;
      const Snapshot snapshot = Devices(count, replicas, std::max<std::size_t>(bytes, 6));
      const std::size_t fit = UnitsThatFit(snapshot);
      const auto message = ListMessage(snapshot);
      ASSERT_EQ(static_cast<std::size_t>(message.devices_size()), fit);
      ASSERT_LT(fit, static_cast<std::size_t>(count) * static_cast<std::size_t>(replicas));
      EXPECT_LE(message.ByteSizeLong(), kMaxListBytes);
      EXPECT_GT(message.ByteSizeLong() + 100, kMaxListBytes);
    }
  }
}

TEST(ListMessage, OmitsTheHighestRanksFirst) {
  Snapshot snapshot = Devices(200'000);
  // The healthy devices are the last by ID.
  for (std::size_t i = 0; i < snapshot.devices.size(); ++i) {
    if (i >= 150'000) continue;
    snapshot.devices[i].health = Health::kUnhealthy;
    snapshot.devices[i].rank = i == 7 ? 1 : static_cast<std::uint32_t>(1'000'000 - i);
  }
  const auto message = ListMessage(snapshot);
  ASSERT_EQ(static_cast<std::size_t>(message.devices_size()), UnitsThatFit(snapshot));
  EXPECT_LE(message.ByteSizeLong(), kMaxListBytes);
  int healthy = 0;
  std::string last;
  for (const auto& device : message.devices()) {
    healthy += device.health() == "Healthy";
    EXPECT_LT(last, device.id()) << "ordered by ID";
    last = device.id();
  }
  EXPECT_EQ(healthy, 50'000);
  EXPECT_EQ(message.devices(0).id(), "00000007") << "the lowest rank of the others";
  // Devices that disappeared last have precedence.
  const int others = message.devices_size() - healthy - 1;
  EXPECT_EQ(message.devices(1).id(), Format("{:08}", 150'000 - others));
}

TEST(ListMessage, UnhealthyDevicesTakeMoreBytes) {
  Snapshot snapshot = Devices(200'000);
  const std::size_t healthy = UnitsThatFit(snapshot);
  for (ListedDevice& listed : snapshot.devices) listed.health = Health::kUnhealthy;
  EXPECT_LT(UnitsThatFit(snapshot), healthy);
  EXPECT_LE(ListMessage(snapshot).ByteSizeLong(), kMaxListBytes);
}

TEST(ListMessage, EveryReplicaHasItsNumaNode) {
  Snapshot snapshot = OnNumaNodes(Devices(3, 2, 1), {0, 1, 63});
  auto message = ListMessage(snapshot);
  ASSERT_EQ(message.devices_size(), 6);
  for (int i = 0; i < 6; ++i) {
    ASSERT_EQ(message.devices(i).topology().nodes_size(), 1);
    EXPECT_EQ(message.devices(i).topology().nodes(0).id(), (std::vector{0, 0, 1, 1, 63, 63}[i]));
  }
  snapshot.topology = false;
  message = ListMessage(snapshot);
  for (const auto& device : message.devices()) EXPECT_FALSE(device.has_topology());
}

/// Returns the encoded size of a list of the first `count` devices, without the limit.
std::size_t WireBytes(const Snapshot& snapshot, std::size_t count) {
  v1beta1::ListAndWatchResponse message;
  for (std::size_t i = 0; i < count; ++i) {
    v1beta1::Device& device = *message.add_devices();
    device.set_id(snapshot.devices[i].device->id);
    device.set_health(std::string(Name(snapshot.devices[i].health)));
    device.mutable_topology()->add_nodes()->set_id(*snapshot.devices[i].device->numa_node);
  }
  return message.SerializeAsString().size();
}

TEST(ListMessage, CountsTheBytesOfTopology) {
  const struct {
    std::vector<int> nodes;
    std::size_t devices, id_bytes;
  } lists[] = {{{0}, 200'000, 6},
               {{5, 0, 0, 63, 1}, 200'000, 6},
               {{63}, 60'000, 63},
               {{0, 1}, 60'000, 63},
               {{5, 0, 0, 63, 1}, 60'000, 63}};
  for (const auto& list : lists) {
    Snapshot snapshot = OnNumaNodes(Devices(list.devices, 1, list.id_bytes), list.nodes);
    for (std::size_t i = 0; i < snapshot.devices.size(); i += 3) {
      snapshot.devices[i].health = Health::kUnhealthy;
    }
    const std::size_t fit = UnitsThatFit(snapshot);
    ASSERT_LT(fit, snapshot.devices.size());
    EXPECT_LE(WireBytes(snapshot, fit), kMaxListBytes);
    EXPECT_GT(WireBytes(snapshot, fit + 1), kMaxListBytes) << "one more would have fit";
    EXPECT_EQ(ListMessage(snapshot).ByteSizeLong(), WireBytes(snapshot, fit));
  }
}

TEST(ListMessage, FitsTheKubeletsLimit) {
  static_assert(kMaxListBytes < 4'194'304);
  // The maximum number of devices, with the longest IDs.
  EXPECT_EQ(UnitsThatFit(Devices(10'000, 1, 63)), 10'000U);
}

TEST(FromMessage, AcceptsAnyAllocationSize) {
  v1beta1::ContainerPreferredAllocationRequest message;
  EXPECT_EQ(FromMessage(message).size, 0U);
  for (const char* id : {"b", "a", "b"}) message.add_available_device_ids(id);
  message.add_must_include_device_ids("c");
  message.set_allocation_size(std::numeric_limits<std::int32_t>::max());
  const PreferenceRequest request = FromMessage(message);
  EXPECT_THAT(request.available, ElementsAre("b", "a", "b"));
  EXPECT_THAT(request.must_include, ElementsAre("c"));
  EXPECT_EQ(request.size, 2'147'483'647U);
  message.set_allocation_size(std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(FromMessage(message).size, 0U);
}

TEST(FillResponse, CopiesEveryField) {
  ContainerResponse response;
  response.envs = {{"A", "1"}, {"B", ""}};
  response.annotations = {{"example.com/x", "y"}};
  response.mounts = {{"/in", "/out", true}, {"/in2", "/out2", false}};
  response.devices = {{"/dev/in", "/dev/out", "rwm"}};
  response.cdi_devices = {"example.com/c=1", "example.com/c=2"};
  v1beta1::ContainerAllocateResponse message;
  FillResponse(response, message);
  EXPECT_EQ(message.envs_size(), 2);
  EXPECT_EQ(message.envs().at("A"), "1");
  EXPECT_EQ(message.envs().at("B"), "");
  EXPECT_EQ(message.annotations().at("example.com/x"), "y");
  ASSERT_EQ(message.mounts_size(), 2);
  EXPECT_EQ(message.mounts(0).container_path(), "/in");
  EXPECT_EQ(message.mounts(0).host_path(), "/out");
  EXPECT_TRUE(message.mounts(0).read_only());
  EXPECT_FALSE(message.mounts(1).read_only());
  ASSERT_EQ(message.devices_size(), 1);
  EXPECT_EQ(message.devices(0).container_path(), "/dev/in");
  EXPECT_EQ(message.devices(0).host_path(), "/dev/out");
  EXPECT_EQ(message.devices(0).permissions(), "rwm");
  ASSERT_EQ(message.cdi_devices_size(), 2);
  EXPECT_EQ(message.cdi_devices(1).name(), "example.com/c=2");
}

TEST(FillResponse, EmptyResponseGivesAnEmptyMessage) {
  v1beta1::ContainerAllocateResponse message;
  FillResponse({}, message);
  EXPECT_EQ(message.ByteSizeLong(), 0U);
}

}  // namespace
}  // namespace patchbay
