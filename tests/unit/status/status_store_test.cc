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
  ResourceStatus Resource() const { return store_->Read().resources.at(kResource); }
  bool HasProbe(const std::string& device) const {
    return Resource().probes->Find(device).has_value();
  }

  /// Adds the resource for the duration of the test.
  void Add() { observer_ = store_->AddResource(kResource); }

  const std::shared_ptr<StatusStore> store_ =
      std::make_shared<StatusStore>(NodeStatus{.version = "1.2.3"}, [] { return kNow; });
  std::shared_ptr<ResourceObserver> observer_;
};

TEST_F(StatusStoreTest, KeepsItsInitialFields) {
  EXPECT_EQ(store_->Read().version, "1.2.3");
  EXPECT_TRUE(store_->Read().resources.empty());
}

TEST_F(StatusStoreTest, EveryChangeIncreasesTheSerial) {
  std::uint64_t serial = store_->Read().serial;
  const auto expect_newer = [&](const char* change) {
    EXPECT_GT(store_->Read().serial, serial) << change;
    serial = store_->Read().serial;
  };
  Add();
  expect_newer("AddResource");
  store_->Exchange(kResource, SnapshotOf({"a"}));
  expect_newer("Exchange");
  store_->SetProbe(kResource, "a", Probe("ok"));
  expect_newer("SetProbe");
  store_->Change(kResource, [](ResourceStatus& status) { status.streams = 1; });
  expect_newer("Change of a resource");
  store_->SetKubeletUp(true);
  expect_newer("Change of the node");
  observer_.reset();
  expect_newer("RemoveResource");
}

TEST_F(StatusStoreTest, ReadersKeepTheirCopy) {
  Add();
  const NodeStatus before = store_->Read();
  store_->Change(kResource, [](ResourceStatus& status) { status.streams = 2; });
  observer_.reset();
  EXPECT_EQ(before.resources.at(kResource).streams, 0);
}

TEST_F(StatusStoreTest, ExchangeReturnsThePreviousSnapshot) {
  Add();
  const auto first = SnapshotOf({"a"}), second = SnapshotOf({"b"});
  EXPECT_EQ(store_->Exchange(kResource, first), nullptr);
  EXPECT_EQ(store_->Exchange(kResource, second), first);
  EXPECT_EQ(Resource().snapshot, second);
}

TEST_F(StatusStoreTest, ForgetsProbeResultsOfRemovedOrReplacedDevices) {
  Add();
  store_->Exchange(kResource, SnapshotOf({"a", "b"}));
  store_->SetProbe(kResource, "a", Probe("a is fine"));
  store_->SetProbe(kResource, "b", Probe("b is fine"));
  store_->Exchange(kResource, SnapshotOf({"a"}));
  EXPECT_TRUE(HasProbe("a"));
  EXPECT_FALSE(HasProbe("b"));
  store_->Exchange(kResource, SnapshotOf({"a"}, true, "/dev/other"));
  EXPECT_FALSE(HasProbe("a")) << "another device with the same ID";
}

/// A reader may have read the new snapshot together with the old results.
TEST_F(StatusStoreTest, ForgettingProbeResultsIsAChangeAfterThatOfTheSnapshot) {
  Add();
  const auto changes = [&](const std::shared_ptr<const Snapshot>& snapshot) {
    const std::uint64_t before = store_->Read().serial;
    store_->Exchange(kResource, snapshot);
    return store_->Read().serial - before;
  };
  store_->Exchange(kResource, SnapshotOf({"a"}));
  store_->SetProbe(kResource, "a", Probe("fine"));
  EXPECT_EQ(changes(SnapshotOf({"a"})), 1U);
  ASSERT_TRUE(HasProbe("a"));
  EXPECT_EQ(changes(SnapshotOf({"a"}, /*probed=*/false)), 2U);
  EXPECT_FALSE(HasProbe("a"));
}

TEST_F(StatusStoreTest, ForgetsProbeResultsWhenTheProbeIsRemoved) {
  Add();
  store_->Exchange(kResource, SnapshotOf({"a"}));
  store_->SetProbe(kResource, "a", Probe("fine"));
  store_->Exchange(kResource, SnapshotOf({"a"}, /*probed=*/false));
  EXPECT_FALSE(HasProbe("a"));
}

TEST_F(StatusStoreTest, KeepsTheNextProbeOfAListedDevice) {
  const auto next = [&](const char* device) { return Resource().probes->Next(device); };
  Add();
  for (const char* id : {"a", "b"}) store_->SetNextProbe(kResource, id, kNow);
  store_->Exchange(kResource, SnapshotOf({"a", "b"}));
  EXPECT_EQ(next("a"), kNow);
  EXPECT_EQ(next("c"), std::nullopt);
  // A replaced device is probed at once, which was scheduled before it is listed.
  store_->SetNextProbe(kResource, "a", kNow + std::chrono::seconds(1));
  store_->Exchange(kResource, SnapshotOf({"a"}, true, "/dev/other"));
  EXPECT_EQ(next("a"), kNow + std::chrono::seconds(1));
  EXPECT_EQ(next("b"), std::nullopt);
  store_->SetNextProbe(kResource, "a", std::nullopt);
  EXPECT_EQ(next("a"), std::nullopt);
}

TEST_F(StatusStoreTest, RecordsTransitionsOfAllResources) {
  EXPECT_EQ(store_->Read().transitions, nullptr);
  std::vector<std::shared_ptr<ResourceObserver>> observers;
  for (const char* name : {"example.com/a", "example.com/b"}) {
    observers.push_back(store_->AddResource(name));
    store_->Exchange(name, SnapshotOf({}));
    store_->Exchange(name, SnapshotOf({"x"}));
  }
  const NodeStatus before = store_->Read();
  ASSERT_EQ(before.transitions->size(), 2U);
  store_->Exchange("example.com/a", SnapshotOf({}));
  EXPECT_EQ(before.transitions->size(), 2U) << "the copy of a reader changed";
  EXPECT_EQ(store_->Read().transitions->size(), 3U);
  observers.clear();
  EXPECT_EQ(store_->Read().transitions->size(), 3U);
}

TEST_F(StatusStoreTest, RemovingAResourceIsNoTransitionOfItsDevices) {
  Add();
  store_->Exchange(kResource, SnapshotOf({"a"}));
  store_->Change(kResource, [](ResourceStatus& status) {
    status.registration.state = RegistrationState::kRetiring;
  });
  store_->Exchange(kResource, SnapshotOf({}));
  EXPECT_EQ(store_->Read().transitions, nullptr);
}

TEST_F(StatusStoreTest, MemoryIsBoundedUnderChurn) {
  Add();
  for (int i = 0; i < 1000; ++i) {
    const std::string id = std::to_string(i);
    store_->SetNextProbe(kResource, id, kNow);
    store_->Exchange(kResource, SnapshotOf({id}));
    store_->SetProbe(kResource, id, Probe("fine"));
    store_->Exchange(kResource, SnapshotOf({}));
    // The probe of a device that was removed meanwhile ends late.
    store_->SetProbe(kResource, id, Probe("late"));
    EXPECT_FALSE(HasProbe(id));
  }
  EXPECT_EQ(store_->Read().transitions->size(), kMaxTransitions);
}

TEST_F(StatusStoreTest, IgnoresResourcesThatWereNotAdded) {
  store_->SetProbe(kResource, "a", Probe("fine"));
  store_->Change(kResource, [](ResourceStatus&) { FAIL() << "there is no such resource"; });
  EXPECT_EQ(store_->Exchange(kResource, nullptr), nullptr);
  EXPECT_TRUE(store_->Read().resources.empty());
}

TEST_F(StatusStoreTest, IsThreadSafe) {
  Add();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        store_->Change(kResource, [](ResourceStatus& status) { ++status.streams; });
        store_->SetProbe(kResource, std::to_string(t), Probe("fine"));
        store_->Exchange(kResource, SnapshotOf({"a"}));
        EXPECT_EQ(store_->Read().resources.size(), 1U);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Resource().streams, 400);
}

}  // namespace
}  // namespace patchbay
