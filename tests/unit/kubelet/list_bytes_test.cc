#include "kubelet/list_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kubelet/proto_convert.h"

namespace patchbay {
namespace {

class RandomSnapshots {
 public:
  Snapshot Next() {
    auto spec = std::make_shared<ResourceSpec>();
    spec->replicas = UpTo(1) == 0 ? 1 : UpTo(40) + 1;
    Snapshot snapshot{std::move(spec), 1, {}, {}, UpTo(1) == 0};
    for (int count = UpTo(200); count > 0; --count) snapshot.devices.push_back(NextDevice());
    return snapshot;
  }

 private:
  int UpTo(int last) { return std::uniform_int_distribution(0, last)(random_); }

  ListedDevice NextDevice() {
    auto device = std::make_shared<Device>();
    device->id =
        std::string(static_cast<std::size_t>(UpTo(200)), static_cast<char>('a' + UpTo(25)));
    device->numa_node = UpTo(kLastNumaNode);
    const Health health = UpTo(1) == 0 ? Health::kHealthy : Health::kUnhealthy;
    return {std::move(device), health, "", static_cast<std::uint32_t>(UpTo(3))};
  }

  std::minstd_rand random_{1};
};

/// Returns the message as protobuf builds it.
v1beta1::ListAndWatchResponse ExpectedList(const Snapshot& snapshot) {
  v1beta1::ListAndWatchResponse message;
  const std::vector<int> fitting = FittingUnits(snapshot);
  message.mutable_devices()->Reserve(std::accumulate(fitting.begin(), fitting.end(), 0));
  for (std::size_t place = 0; place < fitting.size(); ++place) {
    const ListedDevice& listed = snapshot.devices[place];
    for (int replica = 0; replica < fitting[place]; ++replica) {
      v1beta1::Device& device = *message.add_devices();
      device.set_id(AdvertisedId(*snapshot.spec, listed.device->id, replica));
      const std::string_view health = Name(listed.health);
      device.set_health(health.data(), health.size());
      if (snapshot.topology) {
        device.mutable_topology()->add_nodes()->set_id(*listed.device->numa_node);
      }
    }
  }
  return message;
}

TEST(ListBytes, EqualsTheSerializedMessage) {
  RandomSnapshots snapshots;
  for (int i = 0; i < 300; ++i) {
    const Snapshot snapshot = snapshots.Next();
    ASSERT_EQ(ListBytes(snapshot), ExpectedList(snapshot).SerializeAsString()) << "snapshot " << i;
  }
}

TEST(ListBytes, IsEmptyWithoutDevices) {
  EXPECT_EQ(ListBytes({std::make_shared<const ResourceSpec>(), 1, {}, {}}), "");
}

TEST(ListBytes, IsTruncatedLikeTheMessage) {
  auto spec = std::make_shared<ResourceSpec>();
  spec->replicas = 1'000;
  Snapshot snapshot{std::move(spec), 1, {}, {}};
  for (std::uint32_t i = 0; i < 100; ++i) {
    auto device = std::make_shared<Device>();
    device->id = std::string(57, static_cast<char>('a' + i % 26)) + std::to_string(i);
    snapshot.devices.push_back({std::move(device), Health::kHealthy, "", i % 7});
  }
  const std::string bytes = ListBytes(snapshot);
  EXPECT_EQ(bytes, ExpectedList(snapshot).SerializeAsString());
  EXPECT_LE(bytes.size(), kMaxListBytes);
  EXPECT_LT(UnitsThatFit(snapshot), 100'000U);
}

}  // namespace
}  // namespace patchbay
