#include "dra/slice_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>

#include "base/format.h"

namespace patchbay {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kPool[] = "node-1/example.com/serial";
constexpr char kOwnerUid[] = "node-uid";

SliceDevice Numbered(int number, std::int64_t version = 0) {
  SliceDevice device{.name = Format("d{:05}", number)};
  device.attributes.emplace("version", version);
  return device;
}

std::vector<SliceDevice> NumberedUpTo(int count) {
  std::vector<SliceDevice> devices;
  devices.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) devices.push_back(Numbered(i));
  return devices;
}

/// The devices of a complete pool by name, as the scheduler reads them.
using View = std::map<std::string, SliceDevice>;

/// An API server with the slices of one pool, and a scheduler that reads them.
class Server {
 public:
  const std::vector<PublishedSlice>& slices() const { return slices_; }
  std::vector<PublishedSlice>& slices() { return slices_; }

  void Delete(const SliceKey& key) {
    const auto at = Find(key);
    if (at != slices_.end()) slices_.erase(at);
  }
  void Update(const SliceUpdate& update) {
    const auto at = Find(update.key);
    if (at == slices_.end()) return;
    at->slice = update.slice;
    at->owner_uid = kOwnerUid;
    at->key.resource_version = std::to_string(++version_);
  }
  void Create(const SliceCreation& creation) {
    ++version_;
    slices_.push_back({{Format("{:05x}-patchbay.dev-node-1-{}", creation.index, version_),
                        Format("uid-{}", version_), std::to_string(version_)},
                       "patchbay.dev",
                       "node-1",
                       kOwnerUid,
                       creation.slice});
  }

  /// Applies at most `limit` writes of a plan. Calls `after` after each.
  template <class After>
  void Apply(const SlicePlan& plan, std::size_t limit, After after) {
    const auto each = [&](const auto& writes, auto write) {
      for (const auto& one : writes) {
        if (limit == 0) return;
        --limit;
        (this->*write)(one);
        after();
      }
    };
    each(plan.deletions, &Server::Delete);
    each(plan.updates, &Server::Update);
    each(plan.creations, &Server::Create);
  }
  void Apply(const SlicePlan& plan) {
    Apply(plan, 1'000'000, [] {});
  }

  /// The rules of dynamic-resource-allocation structured/pools.go: only the highest generation
  /// counts; the pool is ignored while slices are missing.
  std::optional<View> Scheduler() const {
    std::int64_t newest = 0;
    for (const PublishedSlice& slice : slices_) newest = std::max(newest, slice.slice.generation);
    View view;
    std::int64_t found = 0;
    std::int64_t declared = -1;
    std::size_t devices = 0;
    for (const PublishedSlice& slice : slices_) {
      if (slice.slice.generation != newest) continue;
      ++found;
      declared = slice.slice.slice_count;
      devices += slice.slice.devices.size();
      for (const SliceDevice& device : slice.slice.devices) view.emplace(device.name, device);
    }
    if (found != declared) return std::nullopt;
    EXPECT_EQ(view.size(), devices) << "a device is in two slices";
    return view;
  }

 private:
  std::vector<PublishedSlice>::iterator Find(const SliceKey& key) {
    return std::ranges::find(slices_, key, &PublishedSlice::key);
  }

  std::vector<PublishedSlice> slices_;
  int version_ = 100;
};

View ViewOf(const std::vector<SliceDevice>& devices) {
  View view;
  for (const SliceDevice& device : devices) view.emplace(device.name, device);
  return view;
}

SlicePlan PlanFor(const Server& server, const std::vector<SliceDevice>& devices) {
  return PlanSlices(kPool, devices, server.slices(), kOwnerUid);
}

/// Returns a server that has published the devices.
Server Published(const std::vector<SliceDevice>& devices) {
  Server server;
  server.Apply(PlanFor(server, devices));
  return server;
}

/// The number of deletions, updates and creations.
std::vector<std::size_t> Writes(const SlicePlan& plan) {
  return {plan.deletions.size(), plan.updates.size(), plan.creations.size()};
}

TEST(PlanSlices, PublishesSixtyFourDevicesInASlice) {
  const struct {
    int devices;
    std::size_t slices;
  } kCases[] = {{0, 1}, {1, 1}, {64, 1}, {65, 2}, {128, 2}, {129, 3}, {10'000, 157}};
  for (const auto& [count, slices] : kCases) {
    Server server;
    const auto devices = NumberedUpTo(count);
    const SlicePlan plan = PlanFor(server, devices);
    EXPECT_THAT(Writes(plan), ElementsAre(0U, 0U, slices)) << count;
    std::vector<SliceDevice> in_order;
    for (std::size_t i = 0; i < plan.creations.size(); ++i) {
      const auto& [index, slice] = plan.creations[i];
      EXPECT_EQ(index, i);
      EXPECT_EQ(slice.pool, kPool);
      EXPECT_EQ(slice.generation, 1);
      EXPECT_EQ(slice.slice_count, static_cast<std::int64_t>(slices));
      in_order.insert(in_order.end(), slice.devices.begin(), slice.devices.end());
    }
    EXPECT_EQ(in_order, devices) << count;
    server.Apply(plan);
    EXPECT_EQ(server.Scheduler(), ViewOf(devices));
  }
}

TEST(PlanSlices, WritesNothingIfNothingChanged) {
  for (const int count : {0, 1, 64, 65, 10'000}) {
    const auto devices = NumberedUpTo(count);
    Server server = Published(devices);
    EXPECT_TRUE(PlanFor(server, devices).IsEmpty()) << count;
    std::ranges::reverse(server.slices());  // as a LIST may return them
    EXPECT_TRUE(PlanFor(server, devices).IsEmpty()) << count;
  }
}

TEST(PlanSlices, WritesOneSliceForOneDevice) {
  auto devices = NumberedUpTo(150);
  Server server = Published(devices);
  const auto expect_one_update = [&](const char* what) {
    const SlicePlan plan = PlanFor(server, devices);
    EXPECT_THAT(Writes(plan), ElementsAre(0U, 1U, 0U)) << what;
    ASSERT_THAT(plan.updates, SizeIs(1));
    EXPECT_EQ(plan.updates[0].slice.generation, 1) << what;
    server.Apply(plan);
    EXPECT_EQ(server.Scheduler(), ViewOf(devices)) << what;
  };
  devices[70] = Numbered(70, 7);
  expect_one_update("changed");
  devices.erase(devices.begin() + 3);
  expect_one_update("removed");
  devices.insert(devices.begin() + 100, {.name = "d00099x"});
  expect_one_update("added");
  devices[5].taints = {{.key = std::string(kUnhealthyTaint)}};
  expect_one_update("tainted");
  // The new device takes the place of the removed one.
  devices.erase(devices.begin() + 66);
  devices.push_back(Numbered(200));
  expect_one_update("replaced");
}

TEST(PlanSlices, RaisesTheGenerationIfSeveralSlicesChange) {
  auto devices = NumberedUpTo(150);
  Server server = Published(devices);
  devices[0] = Numbered(0, 1);
  devices[149] = Numbered(149, 1);
  const SlicePlan plan = PlanFor(server, devices);
  EXPECT_THAT(Writes(plan), ElementsAre(0U, 3U, 0U));
  for (const SliceUpdate& update : plan.updates) EXPECT_EQ(update.slice.generation, 2);
}

TEST(PlanSlices, AddsASliceWhenAllAreFull) {
  auto devices = NumberedUpTo(128);
  Server server = Published(devices);
  devices.push_back(Numbered(128));
  const SlicePlan plan = PlanFor(server, devices);
  EXPECT_THAT(Writes(plan), ElementsAre(0U, 2U, 1U));
  EXPECT_EQ(plan.creations[0].index, 2U);
  EXPECT_EQ(plan.creations[0].slice.generation, 2);
  EXPECT_EQ(plan.creations[0].slice.slice_count, 3);
}

TEST(PlanSlices, DeletesSlicesWithoutDevicesButKeepsOne) {
  auto devices = NumberedUpTo(65);
  Server server = Published(devices);
  devices.pop_back();
  SlicePlan plan = PlanFor(server, devices);
  EXPECT_THAT(Writes(plan), ElementsAre(1U, 1U, 0U));
  EXPECT_EQ(plan.updates[0].slice.generation, 2);
  server.Apply(plan);
  plan = PlanFor(server, {});
  EXPECT_THAT(Writes(plan), ElementsAre(0U, 1U, 0U));
  EXPECT_THAT(plan.updates[0].slice.devices, IsEmpty());
}

TEST(PlanSlices, LaysDevicesOutAgainIfSlicesAreNearlyEmpty) {
  const auto all = NumberedUpTo(640);
  Server server = Published(all);
  std::vector<SliceDevice> devices;
  for (std::size_t i = 0; i < all.size(); i += 64) devices.push_back(all[i]);  // one of each slice
  server.Apply(PlanFor(server, devices));
  EXPECT_THAT(server.slices(), SizeIs(1));
  EXPECT_EQ(server.slices()[0].slice.devices, devices);
  EXPECT_TRUE(PlanFor(server, devices).IsEmpty());
}

TEST(PlanSlices, CreatesADeletedSliceWithoutANewGeneration) {
  const auto devices = NumberedUpTo(192);
  Server server = Published(devices);
  server.slices().erase(server.slices().begin() + 1);
  const SlicePlan plan = PlanFor(server, devices);
  EXPECT_THAT(Writes(plan), ElementsAre(0U, 0U, 1U));
  EXPECT_EQ(plan.creations[0].index, 1U);
  EXPECT_EQ(plan.creations[0].slice.generation, 1);
  server.Apply(plan);
  EXPECT_EQ(server.Scheduler(), ViewOf(devices));
}

TEST(PlanSlices, ContinuesAnAbandonedPlanWithoutANewGeneration) {
  auto devices = NumberedUpTo(192);
  Server server = Published(devices);
  for (const std::size_t i : {0U, 64U, 128U}) devices[i] = Numbered(static_cast<int>(i), 1);
  server.Apply(PlanFor(server, devices), 1, [] {});
  SlicePlan plan = PlanFor(server, devices);
  EXPECT_THAT(Writes(plan), ElementsAre(0U, 2U, 0U));
  EXPECT_EQ(plan.updates[0].slice.generation, 2);
  // The slice that is written already comes first: the others complete the pool.
  devices[0] = Numbered(0, 2);
  plan = PlanFor(server, devices);
  EXPECT_THAT(Writes(plan), ElementsAre(0U, 3U, 0U));
  EXPECT_EQ(plan.updates[0].slice.devices[0], devices[0]);
  EXPECT_EQ(plan.updates[0].slice.generation, 2);
}

TEST(PlanSlices, CreatesAllSlicesThatTheKubeletDeleted) {
  const auto devices = NumberedUpTo(192);
  EXPECT_THAT(Writes(PlanFor(Server(), devices)), ElementsAre(0U, 0U, 3U));
}

TEST(PlanSlices, RevertsChangesOfOthers) {
  const auto devices = NumberedUpTo(65);
  const struct {
    const char* what;
    void (*change)(Server&);
  } kCases[] = {
      {"attribute", [](Server& s) { s.slices()[0].slice.devices[0].attributes["version"] = true; }},
      {"field", [](Server& s) { s.slices()[0].slice.devices[0].has_foreign_fields = true; }},
      {"removed", [](Server& s) { s.slices()[0].slice.devices.pop_back(); }},
      {"added", [](Server& s) { s.slices()[1].slice.devices.push_back({.name = "other"}); }},
      {"twice",
       [](Server& s) { s.slices()[1].slice.devices.push_back(s.slices()[0].slice.devices[0]); }},
      {"count", [](Server& s) { s.slices()[1].slice.slice_count = 7; }},
      {"generation", [](Server& s) { s.slices()[1].slice.generation = 7; }},
      {"no owner", [](Server& s) { s.slices()[0].owner_uid.clear(); }},
      {"owner", [](Server& s) { s.slices()[1].owner_uid = "uid-of-another-node"; }},
      {"order", [](Server& s) { std::ranges::reverse(s.slices()[0].slice.devices); }},
      {"copy",
       [](Server& s) {
         s.slices().push_back(s.slices()[0]);
         s.slices().back().key.name = "z";
       }},
  };
  for (const auto& [what, change] : kCases) {
    Server server = Published(devices);
    change(server);
    const SlicePlan plan = PlanFor(server, devices);
    EXPECT_FALSE(plan.IsEmpty()) << what;
    server.Apply(plan);
    EXPECT_EQ(server.Scheduler(), ViewOf(devices)) << what;
    EXPECT_TRUE(PlanFor(server, devices).IsEmpty()) << what;
  }
}

TEST(PlanSlices, StartsAgainAboveTheHighestGeneration) {
  const auto devices = NumberedUpTo(65);
  Server server = Published(devices);
  server.slices()[0].slice.generation = std::numeric_limits<std::int64_t>::max();
  server.Apply(PlanFor(server, devices));
  EXPECT_EQ(server.Scheduler(), ViewOf(devices));
  EXPECT_TRUE(PlanFor(server, devices).IsEmpty());
}

/// A finalizer can keep a foreign slice, so the generation rises above it.
TEST(PlanSlices, DeletesForeignSlicesInAnyVersion) {
  Server server;
  const auto devices = NumberedUpTo(3);
  const auto plan = [&] { return PlanSlices(kPool, devices, server.slices(), kOwnerUid); };
  server.Apply(plan(), 10, [] {});
  PublishedSlice foreign = server.slices().front();
  foreign.key = {"foreign", "uid-f", "7"};
  foreign.is_foreign = true;
  foreign.slice.devices.clear();
  for (const std::int64_t generation : {1, 9}) {
    foreign.slice.generation = generation;
    server.slices().push_back(foreign);
    const SlicePlan first = plan();
    EXPECT_THAT(first.deletions, ElementsAre(SliceKey{"foreign", "uid-f", ""}));
    EXPECT_THAT(first.creations, IsEmpty());
    ASSERT_THAT(first.updates, SizeIs(1));
    EXPECT_EQ(first.updates[0].slice.generation, generation + 1);
    for (const SliceUpdate& update : first.updates) server.Update(update);
    EXPECT_THAT(plan().updates, IsEmpty());
    EXPECT_THAT(plan().deletions, SizeIs(1));
    server.Delete(foreign.key);
    EXPECT_TRUE(plan().IsEmpty());
  }
}

TEST(PlanSlices, RisesToTheLeastGeneration) {
  Server server = Published(NumberedUpTo(65));
  const auto devices = NumberedUpTo(66);  // one slice alone changes
  const auto plan = [&] { return PlanSlices(kPool, devices, server.slices(), kOwnerUid, 1000); };
  server.Apply(plan());
  EXPECT_EQ(server.Scheduler(), ViewOf(devices));
  ASSERT_THAT(server.slices(), SizeIs(2));
  for (const PublishedSlice& slice : server.slices()) EXPECT_EQ(slice.slice.generation, 1000);
  EXPECT_TRUE(plan().IsEmpty());
}

TEST(PlanSlices, KeepsTheTimeOfATaint) {
  auto devices = NumberedUpTo(2);
  const DeviceTaint taint{.key = std::string(kUnhealthyTaint)};
  devices[0].taints = {taint};
  Server server = Published(devices);
  server.slices()[0].slice.devices[0].taints[0].time_added = "2026-11-22T10:00:00Z";
  EXPECT_TRUE(PlanFor(server, devices).IsEmpty());
  devices[1].taints = {taint};
  SlicePlan plan = PlanFor(server, devices);
  ASSERT_THAT(plan.updates, SizeIs(1));
  EXPECT_EQ(plan.updates[0].slice.devices[0].taints[0].time_added, "2026-11-22T10:00:00Z");
  EXPECT_EQ(plan.updates[0].slice.devices[1].taints[0].time_added, "");
  devices[0].taints[0].effect = TaintEffect::kNoExecute;
  plan = PlanFor(server, devices);
  EXPECT_EQ(plan.updates[0].slice.devices[0].taints[0].time_added, "");
}

TEST(PlanSlices, IgnoresOtherPools) {
  Server server = Published(NumberedUpTo(1));
  for (PublishedSlice& slice : server.slices()) slice.slice.pool = "node-1/example.com/other";
  EXPECT_THAT(Writes(PlanFor(server, NumberedUpTo(1))), ElementsAre(0U, 0U, 1U));
}

/// Random changes of the devices, with plans that are abandoned after some writes.
class RandomChanges {
 public:
  explicit RandomChanges(unsigned seed) : random_(seed) {}

  void Run(int rounds) {
    for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
      const int changes = Below(4) == 0 ? Below(150) : Below(4);
      for (int i = 0; i < changes; ++i) ChangeOne();
      if (Below(6) == 0) std::erase_if(devices_, [&](const auto&) { return Below(10) != 0; });
      std::vector<SliceDevice> desired;
      desired.reserve(devices_.size());
      for (const auto& [name, device] : devices_) desired.push_back(device);
      const SlicePlan plan = PlanFor(server_, desired);
      if (was_finished_ && devices_ == last_) {
        EXPECT_TRUE(plan.IsEmpty());
      }
      if (plan.IsEmpty()) {
        EXPECT_EQ(server_.Scheduler(), devices_);
      }
      if (was_finished_ && OnlyOneDeviceChanged()) {
        EXPECT_THAT(Writes(plan), ElementsAre(0U, 1U, 0U));
      }
      const std::size_t writes =
          plan.deletions.size() + plan.updates.size() + plan.creations.size();
      const int abandoned_after = Below(1 + static_cast<int>(writes));
      const std::size_t limit = Below(3) == 0 ? static_cast<std::size_t>(abandoned_after) : writes;
      was_finished_ = limit == writes;
      server_.Apply(plan, limit, [&] { Check(); });
      if (was_finished_) Finish(desired);
    }
  }

 private:
  int Below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }

  void ChangeOne() {
    SliceDevice device = Numbered(Below(400), Below(1000) + 1);
    const auto found = devices_.find(device.name);
    const bool is_new = found == devices_.end();
    if (is_new == (Below(3) == 0)) {
      if (is_new) return;
      devices_.erase(found);
    } else {
      devices_.insert_or_assign(device.name, device);
    }
  }

  /// Returns whether the same devices are published and the content of exactly one differs.
  bool OnlyOneDeviceChanged() const {
    if (devices_.size() != last_.size()) return false;
    int changed = 0;
    for (const auto& [name, device] : devices_) {
      const auto old = last_.find(name);
      if (old == last_.end()) return false;
      if (old->second != device) ++changed;
    }
    return changed == 1;
  }

  /// The scheduler sees the last complete state, the desired one, or ignores the pool.
  void Check() {
    const auto view = server_.Scheduler();
    if (!view || *view == last_) return;
    EXPECT_EQ(*view, devices_) << "the scheduler sees two states mixed";
    last_ = *view;
  }

  void Finish(const std::vector<SliceDevice>& desired) {
    EXPECT_EQ(server_.Scheduler(), devices_);
    EXPECT_TRUE(PlanFor(server_, desired).IsEmpty());
    const std::size_t needed = std::max<std::size_t>(1, (devices_.size() + 63) / 64);
    EXPECT_LE(server_.slices().size(), 2 * needed);
    for (const PublishedSlice& slice : server_.slices()) {
      EXPECT_LE(slice.slice.devices.size(), kMaxDevicesPerSlice);
    }
  }

  std::mt19937 random_;
  Server server_;
  View devices_;
  View last_;  ///< the last complete state that the scheduler saw
  bool was_finished_ = false;
};

class PlanProperty : public testing::TestWithParam<unsigned> {};

TEST_P(PlanProperty, NeverShowsTwoStatesMixed) { RandomChanges(GetParam()).Run(300); }

INSTANTIATE_TEST_SUITE_P(Seeds, PlanProperty, testing::Range(1U, 9U));

}  // namespace
}  // namespace patchbay
