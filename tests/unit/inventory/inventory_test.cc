#include "inventory/inventory.h"

#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <random>
#include <set>

#include "unit/discovery/specs.h"

namespace patchbay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using test::CountMatch;
using test::MakeTemplate;
using test::Rejected;
using test::Resource;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Device Made(const std::string& id, unsigned minor = 0, NamedValues captures = {}) {
  const std::string path = "/dev/" + id;
  return {id, {{path, path, FileType::kCharacter, 188, minor, {}}}, std::move(captures), {}};
}

/// A scan with these devices, in any order.
Discovery Found(std::vector<Device> devices, std::vector<Rejection> rejected = {}) {
  std::sort(devices.begin(), devices.end(),
            [](const Device& a, const Device& b) { return IdLess(a.id, b.id); });
  return {std::move(devices), std::move(rejected), {}, true};
}

/// Advances and publishes.
void Advance(Inventory& inventory, Discovery discovery, Inventory::Time now) {
  inventory.MergeScan(std::move(discovery), now);
  inventory.Publish();
}
void Expire(Inventory& inventory, Inventory::Time now) {
  inventory.Expire(now);
  inventory.Publish();
}

/// "id" of a healthy device, "id!" of an unhealthy one.
std::vector<std::string> States(const Snapshot& snapshot) {
  std::vector<std::string> states;
  for (const ListedDevice& listed : snapshot.devices) {
    states.push_back(listed.device->id + (listed.health == Health::kHealthy ? "" : "!"));
  }
  return states;
}

class InventoryTest : public testing::Test {
 protected:
  static std::shared_ptr<const ResourceSpec> Spec(const std::function<void(ResourceSpec&)>& change =
                                                      [](ResourceSpec&) {}) {
    ResourceSpec spec = Resource({CountMatch(1)});
    spec.forget_after = minutes(10);
    change(spec);
    return std::make_shared<const ResourceSpec>(std::move(spec));
  }
  std::vector<std::string> Listed() const { return States(*inventory_.snapshot()); }

  const Inventory::Time start_{std::chrono::hours(5)};
  Inventory inventory_{Spec(), "node-1"};
};

TEST_F(InventoryTest, HasNoSnapshotBeforeTheFirstScan) {
  EXPECT_EQ(inventory_.snapshot(), nullptr);
  EXPECT_EQ(inventory_.NextExpiry(), std::nullopt);
}

TEST_F(InventoryTest, EmptyHostGivesAnEmptySnapshot) {
  Advance(inventory_, Found({}), start_);
  ASSERT_NE(inventory_.snapshot(), nullptr);
  EXPECT_THAT(Listed(), IsEmpty());
  EXPECT_EQ(inventory_.snapshot()->generation, 1u);
  EXPECT_EQ(inventory_.snapshot()->spec->name, "example.com/thing");
}

TEST_F(InventoryTest, ListsInTheOrderOfIdsAsDevicesComeAndGo) {
  Advance(inventory_, Found({Made("t10"), Made("t9")}), start_);
  EXPECT_THAT(Listed(), ElementsAre("t9", "t10"));
  Advance(inventory_, Found({Made("t1"), Made("t100"), Made("t10")}), start_ + seconds(1));
  EXPECT_THAT(Listed(), ElementsAre("t1", "t9!", "t10", "t100"));
  Advance(inventory_, Found({Made("t9"), Made("t09")}), start_ + seconds(2));
  EXPECT_THAT(Listed(), ElementsAre("t1!", "t09", "t9", "t10!", "t100!"));
  Advance(inventory_, Found({}), start_ + seconds(3));
  EXPECT_THAT(Listed(), ElementsAre("t1!", "t09!", "t9!", "t10!", "t100!"));
}

TEST_F(InventoryTest, VanishedDeviceHasAReason) {
  Device count{"7", {}, {}};
  Advance(inventory_, Found({Made("a"), count}), start_);
  Advance(inventory_, Found({}), start_);
  ASSERT_THAT(Listed(), ElementsAre("7!", "a!"));
  EXPECT_EQ(inventory_.snapshot()->devices[0].reason, "no longer found");
  EXPECT_EQ(inventory_.snapshot()->devices[1].reason, "/dev/a no longer exists");
}

TEST_F(InventoryTest, IncompleteDeviceHasTheReasonOfItsRejection) {
  Device card = Made("card");
  card.nodes.push_back({"/dev/pcm", "/dev/pcm", FileType::kCharacter, 1, 1, {}});
  Advance(inventory_, Found({card}), start_);
  Advance(inventory_,
          Found({}, {{"/dev/pcm", RejectReason::kIncomplete, "it needs a control node"}}), start_);
  ASSERT_THAT(Listed(), ElementsAre("card!"));
  EXPECT_EQ(inventory_.snapshot()->devices[0].reason, "it needs a control node");
  Advance(inventory_, Found({}), start_);
  EXPECT_EQ(inventory_.snapshot()->devices[0].reason, "/dev/card no longer exists");
}

TEST_F(InventoryTest, ForgetsVanishedDevicesAfterForgetAfter) {
  Advance(inventory_, Found({Made("a"), Made("b")}), start_);
  EXPECT_EQ(inventory_.NextExpiry(), std::nullopt);
  Advance(inventory_, Found({Made("b")}), start_ + seconds(1));
  Advance(inventory_, Found({}), start_ + seconds(2));
  Advance(inventory_, Found({}), start_ + minutes(9));  // the clock runs from the first absence
  EXPECT_EQ(inventory_.NextExpiry(), start_ + seconds(1) + minutes(10));

  Expire(inventory_, start_ + minutes(10));
  EXPECT_THAT(Listed(), ElementsAre("a!", "b!"));
  Expire(inventory_, start_ + minutes(10) + seconds(1));
  EXPECT_THAT(Listed(), ElementsAre("b!"));
  EXPECT_EQ(inventory_.NextExpiry(), start_ + seconds(2) + minutes(10));
  Advance(inventory_, Found({}), start_ + minutes(11));
  EXPECT_THAT(Listed(), IsEmpty());
  EXPECT_EQ(inventory_.NextExpiry(), std::nullopt);
}

TEST_F(InventoryTest, ForgetAfterZeroForgetsImmediately) {
  Inventory inventory(Spec([](ResourceSpec& spec) { spec.forget_after = minutes(0); }), "");
  Advance(inventory, Found({Made("a")}), start_);
  Advance(inventory, Found({}), start_);
  EXPECT_THAT(States(*inventory.snapshot()), IsEmpty());
  EXPECT_EQ(inventory.NextExpiry(), std::nullopt);
}

TEST_F(InventoryTest, ReturnedDeviceIsHealthyAgain) {
  Advance(inventory_, Found({Made("a")}), start_);
  const auto device = inventory_.snapshot()->devices[0].device;
  Advance(inventory_, Found({}), start_);
  Advance(inventory_, Found({Made("a")}), start_ + minutes(9));
  EXPECT_THAT(Listed(), ElementsAre("a"));
  EXPECT_EQ(inventory_.snapshot()->devices[0].reason, "");
  EXPECT_EQ(inventory_.snapshot()->devices[0].device, device) << "the same object";
  EXPECT_EQ(inventory_.NextExpiry(), std::nullopt);
  Expire(inventory_, start_ + minutes(100));
  EXPECT_THAT(Listed(), ElementsAre("a"));
  // Its next absence starts a new period.
  Advance(inventory_, Found({}), start_ + minutes(200));
  EXPECT_EQ(inventory_.NextExpiry(), start_ + minutes(210));
}

TEST_F(InventoryTest, KeepsDevicesInUnreadableDirectories) {
  Advance(inventory_, Found({Made("a/x"), Made("ab/x"), Made("b")}), start_);
  const std::vector<Rejection> unread = {{"/dev/a/", RejectReason::kUnreadable, "no permission"}};
  Advance(inventory_, Found({}, unread), start_ + seconds(1));
  EXPECT_THAT(Listed(), ElementsAre("a/x", "ab/x!", "b!"));
  Advance(inventory_, Found({}), start_ + seconds(2));
  EXPECT_THAT(Listed(), ElementsAre("a/x!", "ab/x!", "b!"));
  Advance(inventory_, Found({}, unread), start_ + seconds(3));
  EXPECT_THAT(Listed(), ElementsAre("a/x!", "ab/x!", "b!"));
}

TEST_F(InventoryTest, KeepsDevicesThatAScanDidNotReach) {
  Advance(inventory_, Found({Made("a"), Made("b")}), start_);
  Discovery cut = Found({Made("a")});
  cut.is_cut = true;
  Advance(inventory_, std::move(cut), start_ + seconds(1));
  EXPECT_THAT(Listed(), ElementsAre("a", "b"));
  Advance(inventory_, Found({Made("a")}), start_ + seconds(2));
  EXPECT_THAT(Listed(), ElementsAre("a", "b!"));
}

TEST_F(InventoryTest, KeepsSysfsDevicesWhileSysfsIsUnreadable) {
  const Rejection no_sys{"/sys", RejectReason::kUnreadable, "why"};
  Advance(inventory_, Found({Made("a")}), start_);
  Advance(inventory_, Found({}, {no_sys}), start_);
  EXPECT_THAT(Listed(), ElementsAre("a!")) << "a count does not depend on it";
  Inventory usb(Spec([](ResourceSpec& spec) { spec.matches[0].source = UsbPattern(); }), "");
  Advance(usb, Found({Made("a")}), start_);
  Advance(usb, Found({}, {no_sys}), start_);
  EXPECT_THAT(States(*usb.snapshot()), ElementsAre("a"));
  Advance(usb, Found({}), start_);
  EXPECT_THAT(States(*usb.snapshot()), ElementsAre("a!"));
}

TEST_F(InventoryTest, ChangedNodeReplacesTheDevice) {
  const auto change = [](const char* what, const Device& before, const Device& after) {
    Inventory inventory(Spec(), "");
    Advance(inventory, Found({before}), Inventory::Time());
    const auto old = inventory.snapshot();
    Advance(inventory, Found({after}), Inventory::Time());
    const auto fresh = inventory.snapshot();
    ASSERT_NE(fresh, old) << what;
    EXPECT_NE(fresh->devices[0].device, old->devices[0].device) << what;
    EXPECT_EQ(*fresh->devices[0].device, after) << what;
    EXPECT_EQ(*old->devices[0].device, before) << what << ": a shared snapshot never changes";
  };
  Device retargeted = Made("a");
  retargeted.nodes[0].real_path = "/dev/other";
  Device block = Made("a");
  block.nodes[0].type = FileType::kBlock;
  change("minor", Made("a", 1), Made("a", 2));
  change("link", Made("a"), retargeted);
  change("type", Made("a"), block);
  change("captures", Made("a", 0, {{"k", "1"}}), Made("a", 0, {{"k", "2"}}));
  change("moved", Made("a"), {"a", {{"/dev/x/a", "/dev/a", FileType::kCharacter, 188, 0}}, {}});
}

TEST_F(InventoryTest, ChangedNodeOnReturnReplacesTheDevice) {
  Advance(inventory_, Found({Made("a", 1)}), start_);
  Advance(inventory_, Found({}), start_);
  Advance(inventory_, Found({Made("a", 2)}), start_);
  EXPECT_THAT(Listed(), ElementsAre("a"));
  EXPECT_EQ(inventory_.snapshot()->devices[0].device->nodes[0].minor, 2u);
}

TEST_F(InventoryTest, KeepsTheSnapshotObjectWithoutChanges) {
  const std::vector<Rejection> rejected = {{"/dev/x", RejectReason::kDanglingLink, "why"}};
  Advance(inventory_, Found({Made("a"), Made("b")}, rejected), start_);
  Advance(inventory_, Found({Made("a")}, rejected), start_);
  const auto snapshot = inventory_.snapshot();
  Advance(inventory_, Found({Made("a")}, rejected), start_ + seconds(60));
  Expire(inventory_, start_ + seconds(61));
  EXPECT_EQ(inventory_.snapshot(), snapshot);
  Advance(inventory_, Found({Made("a")}), start_ + seconds(62));
  EXPECT_NE(inventory_.snapshot(), snapshot) << "a rejection was removed";
}

Device On(const std::string& id, std::optional<int> numa_node) {
  Device device = Made(id);
  device.numa_node = numa_node;
  return device;
}

TEST_F(InventoryTest, ReportsTopologyForAllDevicesOrNone) {
  const auto topology_of = [&](std::vector<Device> devices) {
    Advance(inventory_, Found(std::move(devices)), start_);
    return inventory_.snapshot()->topology;
  };
  EXPECT_TRUE(topology_of({On("a", 0), On("b", 1)}));
  EXPECT_FALSE(topology_of({On("a", 0), On("b", std::nullopt)}));
  EXPECT_TRUE(topology_of({On("a", 0), On("b", 1)})) << "b is on a node again";
  EXPECT_TRUE(topology_of({On("a", 0)})) << "b is missing and keeps its node";
  EXPECT_FALSE(topology_of({On("a", 0), On("c", std::nullopt)}));
  // c is missing, and listed until forget_after has passed.
  EXPECT_FALSE(topology_of({On("a", 0)}));
  Expire(inventory_, start_ + minutes(10));
  EXPECT_THAT(Listed(), ElementsAre("a"));
  EXPECT_TRUE(inventory_.snapshot()->topology);
}

TEST_F(InventoryTest, TopologyCanBeDisabled) {
  Inventory inventory(Spec([](ResourceSpec& spec) { spec.topology = false; }), "");
  Advance(inventory, Found({On("a", 0)}), start_);
  EXPECT_FALSE(inventory.snapshot()->topology);
  EXPECT_EQ(inventory.snapshot()->devices[0].device->numa_node, 0);
}

TEST_F(InventoryTest, ChangedNumaNodeIsANewGeneration) {
  Advance(inventory_, Found({On("a", 0)}), start_);
  const auto before = inventory_.snapshot();
  Advance(inventory_, Found({On("a", 1)}), start_);
  EXPECT_GT(inventory_.snapshot()->generation, before->generation);
  EXPECT_EQ(inventory_.snapshot()->devices[0].device->numa_node, 1);
  EXPECT_TRUE(inventory_.snapshot()->topology);
}

TEST_F(InventoryTest, IncrementsTheGenerationWithEveryChange) {
  std::uint64_t last = 0;
  for (int i = 0; i < 6; ++i) {
    std::vector<Device> devices;
    if (i % 2 == 0) devices.push_back(Made("a"));
    Advance(inventory_, Found(std::move(devices)), start_);
    EXPECT_GT(inventory_.snapshot()->generation, last);
    last = inventory_.snapshot()->generation;
  }
}

TEST_F(InventoryTest, RejectsDevicesThatCannotBeAllocated) {
  Inventory inventory(Spec([](ResourceSpec& spec) {
                        spec.env.emplace_back(MakeTemplate("CARD"), MakeTemplate("{card}"));
                      }),
                      "node-1");
  const Rejection earlier{"/dev/z", RejectReason::kUnreadable, "why"};
  Advance(inventory,
          Found({Made("a", 0, {{"card", "1"}}), Made("b"), Made("c", 0, {{"card", "\xff"}})},
                {earlier}),
          start_);
  EXPECT_THAT(States(*inventory.snapshot()), ElementsAre("a"));
  EXPECT_THAT(Rejected(inventory.snapshot()->rejected),
              ElementsAre("bad_template /dev/c", "missing_variable /dev/b", "unreadable /dev/z"));
  const auto snapshot = inventory.snapshot();
  Advance(inventory,
          Found({Made("a", 0, {{"card", "1"}}), Made("b"), Made("c", 0, {{"card", "\xff"}})},
                {earlier}),
          start_ + seconds(1));
  EXPECT_EQ(inventory.snapshot(), snapshot);
  // A device that lost a required value stays listed for a time, like a missing one.
  Advance(inventory, Found({Made("a")}), start_ + seconds(2));
  EXPECT_THAT(States(*inventory.snapshot()), ElementsAre("a!"));
  EXPECT_THAT(inventory.snapshot()->devices[0].reason, testing::HasSubstr("\"card\""));
  EXPECT_THAT(Rejected(inventory.snapshot()->rejected), ElementsAre("missing_variable /dev/a"));
}

TEST_F(InventoryTest, InvariantsHoldOnRandomScans) {
  std::mt19937 random(815);
  Inventory inventory(Spec([](ResourceSpec& spec) { spec.forget_after = seconds(7); }), "");
  Inventory::Time now = start_;
  std::map<std::string, Inventory::Time> last_seen;
  std::shared_ptr<const Snapshot> last;
  for (int step = 0; step < 2000; ++step) {
    now += seconds(random() % 3);
    std::set<std::string> there;
    std::vector<Device> devices;
    for (int i = 0; i < 12; ++i) {
      if (random() % 3 == 0) continue;
      const std::string id = "d" + std::to_string(i);
      there.insert(id);
      last_seen[id] = now;
      devices.push_back(Made(id, random() % 20 == 0));
    }
    Advance(inventory, Found(std::move(devices)), now);
    const auto snapshot = inventory.snapshot();
    if (last) {
      ASSERT_EQ(snapshot == last, snapshot->generation == last->generation);
      ASSERT_GE(snapshot->generation, last->generation);
      ASSERT_EQ(snapshot == last, snapshot->devices == last->devices);
    }
    last = snapshot;
    std::set<std::string> listed;
    for (std::size_t i = 0; i < snapshot->devices.size(); ++i) {
      const ListedDevice& device = snapshot->devices[i];
      const std::string& id = device.device->id;
      listed.insert(id);
      ASSERT_TRUE(i == 0 || IdLess(snapshot->devices[i - 1].device->id, id));
      ASSERT_EQ(device.health == Health::kHealthy, there.contains(id)) << id;
      ASSERT_EQ(device.reason.empty(), there.contains(id)) << id;
      ASSERT_LT(now - last_seen[id], seconds(7) + seconds(3)) << id;
    }
    for (const std::string& id : there) ASSERT_TRUE(listed.contains(id)) << id;
    ASSERT_GT(inventory.NextExpiry().value_or(now + seconds(1)), now);
  }
}

TEST_F(InventoryTest, HealthFollowsTheProbes) {
  inventory_.MergeScan(Found({Made("a"), Made("b"), Made("c")}), start_);
  const auto health_of = [](const std::string& id) {
    return id == "b" ? ProbeScheduler::DeviceHealth{Health::kUnhealthy, "exit code 1"}
                     : ProbeScheduler::DeviceHealth();
  };
  inventory_.Publish(health_of);
  EXPECT_THAT(Listed(), ElementsAre("a", "b!", "c"));
  EXPECT_EQ(inventory_.snapshot()->devices[1].reason, "exit code 1");
  const auto before = inventory_.snapshot();
  inventory_.Publish(health_of);
  EXPECT_EQ(inventory_.snapshot(), before);
  inventory_.Publish();
  EXPECT_THAT(Listed(), ElementsAre("a", "b", "c"));
}

TEST_F(InventoryTest, PublishHealthEqualsPublish) {
  std::minstd_rand random(1);
  const auto up_to = [&](int last) { return std::uniform_int_distribution(0, last)(random); };
  std::map<std::string, ProbeScheduler::DeviceHealth> health;
  const auto health_of = [&](const std::string& id) { return health[id]; };
  Inventory whole(Spec(), "node-1");
  for (int round = 0; round < 300; ++round) {
    if (round % 10 == 0) {
      std::vector<Device> devices;
      for (int i = 0; i < 12; ++i) {
        if (up_to(2) > 0) devices.push_back(Made("n" + std::to_string(i), 7));
      }
      for (Inventory* inventory : {&whole, &inventory_}) {
        inventory->MergeScan(Found(devices), start_ + seconds(round));
        inventory->Publish(health_of);
      }
    }
    std::set<std::string> changed, held;
    for (int i = 0; i < 3; ++i) {
      const std::string id = "n" + std::to_string(up_to(14));
      health[id] = up_to(1) == 0
                       ? ProbeScheduler::DeviceHealth()
                       : ProbeScheduler::DeviceHealth{Health::kUnhealthy, std::to_string(round)};
      changed.insert(id);
      if (round % 7 == 0) held.insert(id);
    }
    whole.SetHeld(held);
    inventory_.SetHeld(held);
    whole.Publish(health_of);
    inventory_.PublishHealth(changed, health_of);
    ASSERT_EQ(inventory_.snapshot()->devices, whole.snapshot()->devices) << "round " << round;
    ASSERT_EQ(inventory_.snapshot()->generation, whole.snapshot()->generation);
  }
}

TEST_F(InventoryTest, PublishHealthSharesTheUnchangedDevices) {
  Advance(inventory_, Found({Made("a"), Made("b")}), start_);
  const auto before = inventory_.snapshot();
  inventory_.PublishHealth({"b", "unknown"}, [](const std::string&) {
    return ProbeScheduler::DeviceHealth{Health::kUnhealthy, "exit code 1"};
  });
  EXPECT_THAT(Listed(), ElementsAre("a", "b!"));
  EXPECT_EQ(States(*before), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(inventory_.snapshot()->devices[0].device, before->devices[0].device);
  EXPECT_EQ(inventory_.snapshot()->devices[1].device, before->devices[1].device);
}

TEST_F(InventoryTest, PublishHealthKeepsTheSnapshotWithoutChanges) {
  Advance(inventory_, Found({Made("a")}), start_);
  const auto before = inventory_.snapshot();
  const auto healthy = [](const std::string&) { return ProbeScheduler::DeviceHealth(); };
  inventory_.PublishHealth({"a"}, healthy);
  inventory_.PublishHealth({}, healthy);
  EXPECT_EQ(inventory_.snapshot(), before);
}

TEST_F(InventoryTest, VanishedDeviceIsUnhealthyDespiteItsProbe) {
  Advance(inventory_, Found({Made("a")}), start_);
  inventory_.MergeScan(Found({}), start_);
  inventory_.Publish([](const std::string&) { return ProbeScheduler::DeviceHealth(); });
  EXPECT_THAT(Listed(), ElementsAre("a!"));
  EXPECT_EQ(inventory_.snapshot()->devices[0].reason, "/dev/a no longer exists");
}

TEST_F(InventoryTest, AnInterfaceThatIsAwayIsHealthyDespiteItsProbe) {
  Device port{.id = "port", .nodes = {}, .interface = NetInterface{"/sys/devices/card"}};
  const auto health_of = [](const std::string&) {
    return ProbeScheduler::DeviceHealth{Health::kUnhealthy, "no carrier"};
  };
  inventory_.MergeScan(Found({port}), start_);
  inventory_.Publish(health_of);
  EXPECT_THAT(Listed(), ElementsAre("port!"));
  port.interface->is_away = true;
  inventory_.MergeScan(Found({port}), start_);
  inventory_.Publish(health_of);
  EXPECT_THAT(Listed(), ElementsAre("port"));
  EXPECT_FALSE(inventory_.Known().at(0).present) << "nothing probes it";
}

TEST_F(InventoryTest, DeviceIsUnhealthyWhileANodeIsMissing) {
  const auto advance = [&](std::vector<Device> devices, std::vector<Rejection> rejected = {},
                           bool is_missing = true) {
    Discovery found = Found(std::move(devices), std::move(rejected));
    if (is_missing) found.unusable.emplace("a", "/dev/control is missing");
    inventory_.MergeScan(std::move(found), start_);
    inventory_.Publish([](const std::string&) { return ProbeScheduler::DeviceHealth(); });
  };
  advance({Made("a"), Made("b")});
  EXPECT_THAT(Listed(), ElementsAre("a!", "b"));
  EXPECT_EQ(inventory_.snapshot()->devices[0].reason, "/dev/control is missing");
  EXPECT_TRUE(inventory_.Known()[0].present) << "its probe continues";
  const auto before = inventory_.snapshot();
  advance({Made("a"), Made("b")});
  EXPECT_EQ(inventory_.snapshot(), before);
  advance({Made("b")}, {{"/dev/a", RejectReason::kUnreadable, "no right"}}, false);
  EXPECT_THAT(Listed(), ElementsAre("a!", "b")) << "an unreadable device does not change";
  advance({Made("a"), Made("b")}, {}, false);
  EXPECT_THAT(Listed(), ElementsAre("a", "b"));
  EXPECT_EQ(inventory_.snapshot()->devices[0].device, before->devices[0].device);
}

TEST_F(InventoryTest, MissingMountIsANewSnapshot) {
  Discovery found = Found({Made("a")});
  found.missing_mounts = {{"/opt/firmware", "nothing there"}};
  Advance(inventory_, found, start_);
  EXPECT_THAT(Listed(), ElementsAre("a"));
  EXPECT_EQ(inventory_.snapshot()->missing_mounts, found.missing_mounts);
  const auto before = inventory_.snapshot();
  Advance(inventory_, Found({Made("a")}), start_);
  EXPECT_NE(inventory_.snapshot(), before);
  EXPECT_THAT(inventory_.snapshot()->missing_mounts, IsEmpty());
}

TEST_F(InventoryTest, UnusedExcludeIsANewSnapshot) {
  Discovery found = Found({Made("a")});
  Advance(inventory_, found, start_);
  const auto before = inventory_.snapshot();
  found.unused_excludes = {{0, "/dev/sytem"}};
  Advance(inventory_, found, start_);
  EXPECT_NE(inventory_.snapshot(), before);
  EXPECT_EQ(inventory_.snapshot()->unused_excludes, found.unused_excludes);
}

/// Returns devices with these numbers in their names.
std::vector<Device> Numbered(int first, int count) {
  std::vector<Device> devices;
  devices.reserve(static_cast<std::size_t>(count));
  for (int i = first; i < first + count; ++i) devices.push_back(Made("d" + std::to_string(i)));
  return devices;
}

TEST_F(InventoryTest, KeepsOnlyTheNewestVanishedDevices) {
  constexpr int kMax = static_cast<int>(Inventory::kMaxVanished);
  inventory_.SetHeld({"d3"});
  std::size_t dropped = 0;
  for (int i = 0; i < 3 * kMax; i += 100) {
    dropped += inventory_.MergeScan(Found(Numbered(i, 100)), start_ + seconds(i / 100));
    ASSERT_LE(inventory_.Known().size(), std::size_t{kMax + 100 + 1});
  }
  inventory_.Publish();
  const auto& devices = inventory_.snapshot()->devices;
  EXPECT_EQ(devices.size(), std::size_t{kMax + 100 + 1});
  EXPECT_EQ(dropped, std::size_t{3 * kMax} - devices.size());
  EXPECT_EQ(devices[0].device->id, "d3") << "a pod uses it";
  EXPECT_EQ(devices[1].device->id, "d" + std::to_string(2 * kMax - 100));
}

TEST_F(InventoryTest, KeepsAsManyVanishedDevicesAsWerePresentAtOnce) {
  constexpr int kMany = 3 * static_cast<int>(Inventory::kMaxVanished);
  EXPECT_EQ(inventory_.MergeScan(Found(Numbered(0, kMany)), start_), 0U);
  EXPECT_EQ(inventory_.MergeScan(Found({}), start_), 0U);
  EXPECT_EQ(inventory_.Known().size(), std::size_t{kMany});
  EXPECT_EQ(inventory_.MergeScan(Found(Numbered(kMany, 10)), start_), 0U);
  EXPECT_EQ(inventory_.MergeScan(Found({}), start_), 10U);
}

TEST_F(InventoryTest, RanksDevicesForATruncatedList) {
  inventory_.SetHeld({"held"});
  const auto advance = [&](std::vector<Device> devices) {
    inventory_.MergeScan(Found(std::move(devices)), start_);
  };
  advance({Made("good"), Made("sick"), Made("old"), Made("held")});
  advance({Made("good"), Made("sick"), Made("new"), Made("held")});
  advance({Made("good"), Made("sick")});
  inventory_.Publish([](const std::string& id) {
    return id == "sick" ? ProbeScheduler::DeviceHealth{Health::kUnhealthy, "why"}
                        : ProbeScheduler::DeviceHealth();
  });
  std::map<std::string, std::uint32_t> rank;
  for (const ListedDevice& listed : inventory_.snapshot()->devices) {
    rank[listed.device->id] = listed.rank;
  }
  EXPECT_EQ(rank.at("good"), 0U);
  EXPECT_LT(rank.at("good"), rank.at("sick"));
  EXPECT_EQ(rank.at("sick"), rank.at("held"));
  EXPECT_LT(rank.at("held"), rank.at("new"));
  EXPECT_LT(rank.at("new"), rank.at("old"));
}

TEST_F(InventoryTest, KnownReportsPresentDevices) {
  Advance(inventory_, Found({Made("a"), Made("b")}), start_);
  Advance(inventory_, Found({Made("b")}), start_);
  const auto known = inventory_.Known();
  ASSERT_THAT(known, SizeIs(2));
  EXPECT_EQ(known[0].device->id, "a");
  EXPECT_FALSE(known[0].present);
  EXPECT_TRUE(known[1].present);
}

TEST_F(InventoryTest, KeepsVanishedDevicesThatAreInUse) {
  Advance(inventory_, Found({Made("a"), Made("b")}), start_);
  inventory_.SetHeld({"a"});
  Advance(inventory_, Found({}), start_);
  Expire(inventory_, start_ + minutes(10));
  EXPECT_THAT(Listed(), ElementsAre("a!"));
  EXPECT_EQ(inventory_.NextExpiry(), std::nullopt);
  Expire(inventory_, start_ + minutes(1000));
  EXPECT_THAT(Listed(), ElementsAre("a!"));
  inventory_.SetHeld({});
  EXPECT_EQ(inventory_.NextExpiry(), start_ + minutes(10));
  Expire(inventory_, start_ + minutes(1000));
  EXPECT_THAT(Listed(), IsEmpty());
}

TEST_F(InventoryTest, ListsClaimedDevicesThatWereRemovedBeforeTheFirstScan) {
  EXPECT_FALSE(inventory_.SetClaimed({"t1", "t5"}, start_)) << "nothing is published yet";
  Advance(inventory_, Found({Made("t1"), Made("t9")}), start_);
  EXPECT_THAT(Listed(), ElementsAre("t1", "t5!", "t9"));
  const ListedDevice former = inventory_.snapshot()->devices[1];
  EXPECT_TRUE(former.is_missing);
  EXPECT_TRUE(former.never_found);
  EXPECT_THAT(former.reason,
              testing::StartsWith("not found since Patchbay started; it was removed"));
  EXPECT_THAT(former.device->nodes, IsEmpty());

  const auto before = inventory_.snapshot();
  Advance(inventory_, Found({Made("t1"), Made("t9")}), start_ + minutes(30));
  EXPECT_EQ(inventory_.snapshot(), before) << "it is listed as long as it is claimed";
  EXPECT_TRUE(inventory_.SetClaimed({"t1", "t5", "t10"}, start_ + minutes(31)));
  inventory_.Publish();
  EXPECT_THAT(Listed(), ElementsAre("t1", "t5!", "t9", "t10!"));
  EXPECT_FALSE(inventory_.SetClaimed({"t1", "t5", "t10"}, start_ + minutes(32)));
  EXPECT_TRUE(inventory_.SetClaimed({"t10"}, start_ + minutes(33)));
  inventory_.Publish();
  EXPECT_THAT(Listed(), ElementsAre("t1", "t9", "t10!"));
  EXPECT_EQ(inventory_.NextExpiry(), std::nullopt);
}

TEST_F(InventoryTest, AClaimedDeviceThatReturnsIsListedAsFound) {
  inventory_.SetClaimed({"t5"}, start_);
  Advance(inventory_, Found({}), start_);
  EXPECT_THAT(Listed(), ElementsAre("t5!"));
  Advance(inventory_, Found({Made("t5")}), start_ + seconds(1));
  EXPECT_THAT(Listed(), ElementsAre("t5"));
  EXPECT_THAT(inventory_.snapshot()->devices[0].device->nodes, SizeIs(1));
}

/// Otherwise pods would be evicted because of a directory that cannot be read.
TEST_F(InventoryTest, AClaimedDeviceIsNotMissingWhereAScanCouldNotRead) {
  inventory_.SetClaimed({"t5"}, start_);
  Discovery failed = Found({}, {{"list-devices", RejectReason::kCommandFailed, "it timed out"}});
  failed.complete = false;
  Advance(inventory_, std::move(failed), start_);
  const ListedDevice device = inventory_.snapshot()->devices.at(0);
  EXPECT_EQ(device.health, Health::kUnhealthy);
  EXPECT_FALSE(device.is_missing);
  EXPECT_THAT(device.reason, testing::HasSubstr("not all places could be read"));
  EXPECT_FALSE(inventory_.Known().at(0).present) << "there is nothing to probe";
  Advance(inventory_, Found({}), start_ + seconds(1));
  EXPECT_TRUE(inventory_.snapshot()->devices[0].is_missing);
}

TEST_F(InventoryTest, ListsNoClaimedDeviceWithAnIdThatNoDeviceCanHave) {
  inventory_.SetClaimed({std::string(64, 'x'), "two\nlines", "\xff"}, start_);
  Advance(inventory_, Found({}), start_);
  EXPECT_THAT(Listed(), IsEmpty());
}

TEST_F(InventoryTest, ListsUnknownDevicesOfClaimsOnly) {
  inventory_.SetClaimed({"t5"}, start_);
  Advance(inventory_, Found({}), start_);
  inventory_.SetHeld({"t5"});
  Advance(inventory_, Found({}), start_ + seconds(1));
  EXPECT_THAT(Listed(), IsEmpty());
}

TEST_F(InventoryTest, NewEntryRemovesDevicesItDoesNotMatch) {
  Advance(inventory_, Found({Made("a"), Made("b"), Made("held")}), start_);
  inventory_.SetHeld({"held"});
  inventory_.SetSpec(Spec(), true);
  inventory_.Publish();
  EXPECT_THAT(Listed(), ElementsAre("a", "b", "held")) << "no scan has run yet";
  Advance(inventory_, Found({Made("a")}), start_);
  EXPECT_THAT(Listed(), ElementsAre("a", "held!"));
  inventory_.SetHeld({});
  EXPECT_EQ(inventory_.NextExpiry(), start_);
  Expire(inventory_, start_);
  EXPECT_THAT(Listed(), ElementsAre("a"));
}

TEST_F(InventoryTest, NewEntryKeepsPreviouslyVanishedDevices) {
  Advance(inventory_, Found({Made("a"), Made("b")}), start_);
  Advance(inventory_, Found({Made("a")}), start_);
  inventory_.SetSpec(Spec(), true);
  Advance(inventory_, Found({Made("a")}), start_ + minutes(1));
  EXPECT_THAT(Listed(), ElementsAre("a", "b!"));
  // Devices that disappear later, too.
  Advance(inventory_, Found({}), start_ + minutes(2));
  EXPECT_THAT(Listed(), ElementsAre("a!", "b!"));
  EXPECT_EQ(inventory_.NextExpiry(), start_ + minutes(10));
}

TEST_F(InventoryTest, KeepsADeviceThatVanishesDuringAReload) {
  Advance(inventory_, Found({Made("a"), Made("b")}), start_);
  inventory_.SetSpec(Spec(), false);  // it finds the same devices, so the entry is not the cause
  Advance(inventory_, Found({Made("a")}), start_);
  EXPECT_THAT(Listed(), ElementsAre("a", "b!"));
  EXPECT_EQ(inventory_.NextExpiry(), start_ + minutes(10));
}

TEST_F(InventoryTest, NewEntryRejectsDevicesItCannotAllocate) {
  Advance(inventory_, Found({Made("a", 0, {{"card", "1"}}), Made("b")}), start_);
  inventory_.SetSpec(Spec([](ResourceSpec& spec) {
                       spec.env.emplace_back(MakeTemplate("CARD"), MakeTemplate("{card}"));
                     }),
                     false);
  Advance(inventory_, Found({Made("a", 0, {{"card", "1"}}), Made("b")}), start_);
  EXPECT_THAT(Listed(), ElementsAre("a"));
  EXPECT_THAT(Rejected(inventory_.snapshot()->rejected), ElementsAre("missing_variable /dev/b"));
}

TEST_F(InventoryTest, NewEntryRejectsADeviceInUseInEveryScan) {
  const auto scan = [] { return Found({Made("a", 0, {{"card", "1"}}), Made("b")}); };
  Advance(inventory_, scan(), start_);
  inventory_.SetHeld({"b"});
  inventory_.SetSpec(Spec([](ResourceSpec& spec) {
                       spec.env.emplace_back(MakeTemplate("CARD"), MakeTemplate("{card}"));
                     }),
                     false);
  for (int i = 0; i < 3; ++i) {
    Advance(inventory_, scan(), start_ + seconds(i));
    EXPECT_THAT(Listed(), ElementsAre("a", "b!")) << i;
    EXPECT_THAT(Rejected(inventory_.snapshot()->rejected), ElementsAre("missing_variable /dev/b"));
  }
  inventory_.SetHeld({});
  Advance(inventory_, scan(), start_ + seconds(3));
  EXPECT_THAT(Listed(), ElementsAre("a"));
}

TEST_F(InventoryTest, NewEntryRejectsDevicesAlsoInAScanThatIsCutOff) {
  Advance(inventory_, Found({Made("a", 0, {{"card", "1"}}), Made("b")}), start_);
  inventory_.SetSpec(Spec([](ResourceSpec& spec) {
                       spec.env.emplace_back(MakeTemplate("CARD"), MakeTemplate("{card}"));
                     }),
                     false);
  Discovery cut = Found({Made("a", 0, {{"card", "1"}}), Made("b")});
  cut.is_cut = true;
  Advance(inventory_, std::move(cut), start_);
  EXPECT_THAT(Listed(), ElementsAre("a"));
}

TEST_F(InventoryTest, NewEntryKeepsUnchangedDevices) {
  Advance(inventory_, Found({Made("a")}), start_);
  const auto before = inventory_.snapshot();
  inventory_.SetSpec(Spec([](ResourceSpec& spec) { spec.replicas = 2; }), false);
  Advance(inventory_, Found({Made("a")}), start_);
  ASSERT_NE(inventory_.snapshot(), before);
  EXPECT_EQ(inventory_.snapshot()->spec->replicas, 2);
  EXPECT_EQ(inventory_.snapshot()->devices[0].device, before->devices[0].device);
  EXPECT_GT(inventory_.snapshot()->generation, before->generation);
}

}  // namespace
}  // namespace patchbay
