#include "status/status_store.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace patchbay {
namespace {

const std::string kResource = "example.com/card";
const WallTime kNow{std::chrono::seconds(1700000000)};

class StatusStoreTest : public testing::Test {
 protected:
  static std::shared_ptr<const Snapshot> SnapshotOf(const std::vector<std::string>& ids,
                                                    bool probed = true,
                                                    const std::string& path = "/dev/x") {
    auto spec = std::make_shared<ResourceSpec>();
    if (probed) spec->health.emplace();
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->spec = spec;
    for (const std::string& id : ids) {
      auto device = std::make_shared<Device>();
      device->id = id;
      device->nodes.push_back({.path = path, .real_path = path});
      snapshot->devices.push_back({.device = device, .health = Health::kHealthy, .reason = ""});
    }
    return snapshot;
  }
  static LastProbe Probe(const std::string& message) {
    return {.at = {}, .took = {}, .result = ProbeResult::kSuccess, .message = message};
  }
  ResourceStatus Resource() const { return store_.Read().resources.at(kResource); }
  bool HasProbe(const std::string& device) const {
    return Resource().probes->Find(device).has_value();
  }

  StatusStore store_{NodeStatus{.version = "1.2.3"}};
};

TEST_F(StatusStoreTest, KeepsItsInitialFields) {
  EXPECT_EQ(store_.Read().version, "1.2.3");
  EXPECT_TRUE(store_.Resources().empty());
}

TEST_F(StatusStoreTest, EveryChangeIncreasesTheSerial) {
  std::uint64_t serial = store_.Read().serial;
  const auto expect_newer = [&](const char* change) {
    EXPECT_GT(store_.Read().serial, serial) << change;
    serial = store_.Read().serial;
  };
  store_.AddResource(kResource);
  expect_newer("AddResource");
  store_.Exchange(kResource, SnapshotOf({"a"}), kNow);
  expect_newer("Exchange");
  store_.SetProbe(kResource, "a", Probe("ok"));
  expect_newer("SetProbe");
  store_.Change(kResource, [](ResourceStatus& status) { status.streams = 1; });
  expect_newer("Change of a resource");
  store_.Change([](NodeStatus& node) { node.kubelet.up = true; });
  expect_newer("Change of the node");
  store_.RemoveResource(kResource);
  expect_newer("RemoveResource");
}

TEST_F(StatusStoreTest, ReadersKeepTheirCopy) {
  store_.AddResource(kResource);
  const NodeStatus before = store_.Read();
  store_.Change(kResource, [](ResourceStatus& status) { status.streams = 2; });
  store_.RemoveResource(kResource);
  EXPECT_EQ(before.resources.at(kResource).streams, 0);
}

TEST_F(StatusStoreTest, ExchangeReturnsThePreviousSnapshot) {
  store_.AddResource(kResource);
  const auto first = SnapshotOf({"a"}), second = SnapshotOf({"b"});
  EXPECT_EQ(store_.Exchange(kResource, first, kNow), nullptr);
  EXPECT_EQ(store_.Exchange(kResource, second, kNow), first);
  EXPECT_EQ(Resource().snapshot, second);
}

TEST_F(StatusStoreTest, ForgetsProbeResultsOfRemovedOrReplacedDevices) {
  store_.AddResource(kResource);
  store_.Exchange(kResource, SnapshotOf({"a", "b"}), kNow);
  store_.SetProbe(kResource, "a", Probe("a is fine"));
  store_.SetProbe(kResource, "b", Probe("b is fine"));
  store_.Exchange(kResource, SnapshotOf({"a"}), kNow);
  EXPECT_TRUE(HasProbe("a"));
  EXPECT_FALSE(HasProbe("b"));
  store_.Exchange(kResource, SnapshotOf({"a"}, true, "/dev/other"), kNow);
  EXPECT_FALSE(HasProbe("a")) << "another device with the same ID";
}

TEST_F(StatusStoreTest, ForgetsProbeResultsWhenTheProbeIsRemoved) {
  store_.AddResource(kResource);
  store_.Exchange(kResource, SnapshotOf({"a"}), kNow);
  store_.SetProbe(kResource, "a", Probe("fine"));
  store_.Exchange(kResource, SnapshotOf({"a"}, /*probed=*/false), kNow);
  EXPECT_FALSE(HasProbe("a"));
}

TEST_F(StatusStoreTest, KeepsTheNextProbeOfAListedDevice) {
  const auto next = [&](const char* device) { return Resource().probes->Next(device); };
  store_.AddResource(kResource);
  for (const char* id : {"a", "b"}) store_.SetNextProbe(kResource, id, kNow);
  store_.Exchange(kResource, SnapshotOf({"a", "b"}), kNow);
  EXPECT_EQ(next("a"), kNow);
  EXPECT_EQ(next("c"), std::nullopt);
  // A replaced device is probed at once, which was scheduled before it is listed.
  store_.SetNextProbe(kResource, "a", kNow + std::chrono::seconds(1));
  store_.Exchange(kResource, SnapshotOf({"a"}, true, "/dev/other"), kNow);
  EXPECT_EQ(next("a"), kNow + std::chrono::seconds(1));
  EXPECT_EQ(next("b"), std::nullopt);
  store_.SetNextProbe(kResource, "a", std::nullopt);
  EXPECT_EQ(next("a"), std::nullopt);
}

TEST_F(StatusStoreTest, RecordsTransitionsOfAllResources) {
  EXPECT_EQ(store_.Read().transitions, nullptr);
  for (const char* name : {"example.com/a", "example.com/b"}) {
    store_.AddResource(name);
    store_.Exchange(name, SnapshotOf({}), kNow);
    store_.Exchange(name, SnapshotOf({"x"}), kNow);
  }
  const NodeStatus before = store_.Read();
  ASSERT_EQ(before.transitions->size(), 2U);
  store_.Exchange("example.com/a", SnapshotOf({}), kNow);
  EXPECT_EQ(before.transitions->size(), 2U) << "the copy of a reader changed";
  EXPECT_EQ(store_.Read().transitions->size(), 3U);
  store_.RemoveResource("example.com/a");
  EXPECT_EQ(store_.Read().transitions->size(), 3U);
}

TEST_F(StatusStoreTest, RemovingAResourceIsNoTransitionOfItsDevices) {
  store_.AddResource(kResource);
  store_.Exchange(kResource, SnapshotOf({"a"}), kNow);
  store_.Change(kResource, [](ResourceStatus& status) {
    status.registration.state = RegistrationState::kRetiring;
  });
  store_.Exchange(kResource, SnapshotOf({}), kNow);
  EXPECT_EQ(store_.Read().transitions, nullptr);
}

TEST_F(StatusStoreTest, MemoryIsBoundedUnderChurn) {
  store_.AddResource(kResource);
  for (int i = 0; i < 1000; ++i) {
    const std::string id = std::to_string(i);
    store_.SetNextProbe(kResource, id, kNow);
    store_.Exchange(kResource, SnapshotOf({id}), kNow);
    store_.SetProbe(kResource, id, Probe("fine"));
    store_.Exchange(kResource, SnapshotOf({}), kNow);
    // The probe of a device that was removed meanwhile ends late.
    store_.SetProbe(kResource, id, Probe("late"));
    EXPECT_FALSE(HasProbe(id));
  }
  EXPECT_EQ(store_.Read().transitions->size(), kMaxTransitions);
}

TEST_F(StatusStoreTest, IgnoresResourcesThatWereNotAdded) {
  store_.SetProbe(kResource, "a", Probe("fine"));
  store_.Change(kResource, [](ResourceStatus&) { FAIL() << "there is no such resource"; });
  EXPECT_EQ(store_.Exchange(kResource, nullptr, kNow), nullptr);
  EXPECT_TRUE(store_.Resources().empty());
}

TEST_F(StatusStoreTest, IsThreadSafe) {
  store_.AddResource(kResource);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        store_.Change(kResource, [](ResourceStatus& status) { ++status.streams; });
        store_.SetProbe(kResource, std::to_string(t), Probe("fine"));
        store_.Exchange(kResource, SnapshotOf({"a"}), kNow);
        EXPECT_EQ(store_.Read().resources.size(), 1U);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Resource().streams, 400);
}

}  // namespace
}  // namespace patchbay
