#include "dra/slice_store.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

nlohmann::json Object(const std::string& name, const std::string& version,
                      const std::string& device = "a") {
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceSlice"},
          {"metadata", {{"name", name}, {"uid", "u-" + name}, {"resourceVersion", version}}},
          {"spec",
           {{"driver", "patchbay.dev"},
            {"nodeName", "node-1"},
            {"pool", {{"name", "p"}, {"generation", 1}, {"resourceSliceCount", 1}}},
            {"devices", {{{"name", device}}}}}}};
}

PublishedSlice Slice(const std::string& name, const std::string& version,
                     const std::string& device = "a") {
  return {{name, "u-" + name, version},
          "patchbay.dev",
          "node-1",
          "node-uid",
          {.pool = "p", .devices = {{.name = device}}}};
}

class SliceStoreTest : public testing::Test {
 protected:
  /// Returns whether the event changed the slices.
  bool Apply(WatchEventType type, const nlohmann::json& object) {
    auto slice = store_.Read(object);
    if (!slice || !*slice) ADD_FAILURE() << object;
    return slice && *slice && !store_.Apply(type, **std::move(slice)).empty();
  }
  /// Adds the objects of a list, and returns how many are not valid.
  int Add(const std::vector<nlohmann::json>& objects) {
    int invalid = 0;
    for (const nlohmann::json& object : objects) {
      auto slice = store_.Read(object);
      if (!slice) ++invalid;
      if (slice && *slice) store_.Put(**std::move(slice));
    }
    return invalid;
  }
  std::vector<std::string> Shown() const {
    std::vector<std::string> shown;
    for (const auto& [pool, slices] : store_.pools()) {
      EXPECT_FALSE(slices.empty()) << pool;
      for (const PublishedSlice& s : slices) {
        EXPECT_EQ(s.slice.pool, pool);
        shown.push_back(s.key.name + "@" + s.key.resource_version + ":" + s.slice.devices[0].name);
      }
    }
    return shown;
  }

  SliceStore store_{"patchbay.dev", "node-1"};
};

TEST_F(SliceStoreTest, KnowsTheSlicesOfAList) {
  auto other_driver = Object("b", "2");
  other_driver["spec"]["driver"] = "other.dev";
  auto other_node = Object("c", "2");
  other_node["spec"]["nodeName"] = "node-2";
  EXPECT_EQ(Add({Object("a", "1"), other_driver, other_node, nlohmann::json::object(), "x"}), 2);
  EXPECT_THAT(Shown(), ElementsAre("a@1:a"));
  store_.BeginList();
  EXPECT_THAT(Shown(), IsEmpty());
}

TEST_F(SliceStoreTest, AppliesChangesOfOthers) {
  EXPECT_TRUE(Apply(WatchEventType::kAdded, Object("a", "1")));
  EXPECT_TRUE(Apply(WatchEventType::kModified, Object("a", "2", "x")));
  EXPECT_THAT(Shown(), ElementsAre("a@2:x"));
  EXPECT_TRUE(Apply(WatchEventType::kDeleted, Object("a", "3", "x")));
  EXPECT_FALSE(Apply(WatchEventType::kDeleted, Object("a", "3", "x")));
  EXPECT_THAT(Shown(), IsEmpty());
}

TEST_F(SliceStoreTest, RemembersTheVersionOfAnUnchangedSlice) {
  Apply(WatchEventType::kAdded, Object("a", "1"));
  EXPECT_FALSE(Apply(WatchEventType::kModified, Object("a", "2")));
  EXPECT_THAT(Shown(), ElementsAre("a@2:a"));
}

TEST_F(SliceStoreTest, IgnoresEventsThatAreOlderThanOwnWrites) {
  store_.OnWritten(Slice("a", "9", "x"));
  store_.OnWritten(Slice("a", "10", "y"));
  EXPECT_FALSE(Apply(WatchEventType::kAdded, Object("a", "9", "x")));
  EXPECT_FALSE(Apply(WatchEventType::kModified, Object("a", "10", "y")));
  EXPECT_THAT(Shown(), ElementsAre("a@10:y"));
  EXPECT_TRUE(Apply(WatchEventType::kModified, Object("a", "11", "z")));
  EXPECT_THAT(Shown(), ElementsAre("a@11:z"));
}

TEST_F(SliceStoreTest, DoesNotBringBackADeletedSlice) {
  store_.OnWritten(Slice("a", "9"));
  store_.OnDeleted({"a", "u-a", "9"});
  EXPECT_FALSE(Apply(WatchEventType::kAdded, Object("a", "9")));
  EXPECT_FALSE(Apply(WatchEventType::kDeleted, Object("a", "10")));
  EXPECT_THAT(Shown(), IsEmpty());
}

/// Our deletion found nothing, and no event follows.
TEST_F(SliceStoreTest, ASliceThatOthersDeletedFirstCanComeBack) {
  Apply(WatchEventType::kAdded, Object("a", "1"));
  Apply(WatchEventType::kDeleted, Object("a", "2"));
  store_.OnDeleted({"a", "u-a", "1"});
  EXPECT_TRUE(Apply(WatchEventType::kAdded, Object("a", "3")));
  EXPECT_THAT(Shown(), ElementsAre("a@3:a"));
}

TEST_F(SliceStoreTest, SeesThatAnotherClientDeletedAnOwnSlice) {
  store_.OnWritten(Slice("a", "9"));
  EXPECT_TRUE(Apply(WatchEventType::kDeleted, Object("a", "10")));
  EXPECT_THAT(Shown(), IsEmpty());
}

TEST_F(SliceStoreTest, ComparesVersionsThatAreNotNumbersForEquality) {
  store_.OnWritten(Slice("a", "x9", "x"));
  EXPECT_FALSE(Apply(WatchEventType::kModified, Object("a", "x9", "y")));
  EXPECT_TRUE(Apply(WatchEventType::kModified, Object("a", "x8", "y")));
}

TEST_F(SliceStoreTest, ASliceCanMoveToAnotherPool) {
  store_.OnWritten(Slice("a", "1", "x"));
  store_.OnWritten(Slice("b", "1", "y"));
  PublishedSlice moved = Slice("a", "2", "x");
  moved.slice.pool = "q";
  store_.OnWritten(moved);
  EXPECT_THAT(store_.SlicesOf("p"), SizeIs(1));
  EXPECT_THAT(store_.SlicesOf("q"), SizeIs(1));
  store_.OnDeleted(moved.key);
  EXPECT_THAT(store_.SlicesOf("q"), SizeIs(0));
  EXPECT_THAT(Shown(), SizeIs(1));
}

TEST_F(SliceStoreTest, FailsForAnEventThatIsNotASlice) {
  EXPECT_FALSE(store_.Read(nlohmann::json::object()));
}

TEST_F(SliceStoreTest, IsBounded) {
  for (std::size_t i = 0; i <= SliceStore::kMaxSlices; ++i) {
    store_.Put(Slice("a" + std::to_string(i), "1"));
  }
  EXPECT_THAT(store_.SlicesOf("p"), SizeIs(SliceStore::kMaxSlices));
  EXPECT_TRUE(store_.is_incomplete());
  store_.OnWritten(Slice("own", "1"));
  EXPECT_THAT(store_.SlicesOf("p"), SizeIs(SliceStore::kMaxSlices + 1));
  store_.BeginList();
  EXPECT_FALSE(store_.is_incomplete());
}

TEST_F(SliceStoreTest, AListThatWasCutOffKeepsOwnWrites) {
  store_.OnWritten(Slice("listed", "1"));
  store_.OnWritten(Slice("hidden", "1"));
  store_.Put(Slice("other", "1"));
  const auto list = [this](bool is_cut) {
    store_.BeginList();
    Add({Object("listed", "2")});
    store_.EndList(is_cut);
    return Shown();
  };
  EXPECT_THAT(list(true), UnorderedElementsAre("listed@2:a", "hidden@1:a"));
  EXPECT_TRUE(store_.is_incomplete());
  EXPECT_THAT(list(true), UnorderedElementsAre("listed@2:a", "hidden@1:a"));
  EXPECT_THAT(list(false), ElementsAre("listed@2:a"));
  EXPECT_FALSE(store_.is_incomplete());
  store_.OnWritten(Slice("hidden", "3"));
  store_.Forget("p");
  EXPECT_THAT(list(true), ElementsAre("listed@2:a"));
}

TEST_F(SliceStoreTest, KeepsOnlyTheKeysOfForeignSlices) {
  EXPECT_FALSE(store_.SetPools({"p"}));
  auto other_pool = Object("a", "1");
  other_pool["spec"]["pool"]["name"] = "q";
  auto no_pool = Object("b", "1");
  no_pool["spec"]["pool"] = 1;
  auto large = Object("c", "1");
  large["spec"]["devices"] = nlohmann::json(65, {{"name", "x"}});
  auto unreadable = Object("d", "1");
  unreadable["spec"]["devices"][0]["taints"] = 1;
  EXPECT_EQ(Add({other_pool, no_pool, large, unreadable}), 0);
  std::vector<std::string> names;
  for (const auto& [pool, slices] : store_.pools()) {
    for (const PublishedSlice& slice : slices) {
      EXPECT_TRUE(slice.is_foreign);
      EXPECT_THAT(slice.slice.devices, IsEmpty());
      names.push_back(pool + ":" + slice.key.name);
    }
  }
  EXPECT_THAT(names, ElementsAre(":b", "p:c", "p:d", "q:a"));
  // The content of slices of a new pool must be read.
  EXPECT_TRUE(store_.SetPools({"p", "q"}));
  EXPECT_FALSE(store_.SetPools({"p", "q", "r"}));
}

TEST_F(SliceStoreTest, BoundsTheMemoryOfAllSlicesTogether) {
  auto object = Object("a", "1");
  nlohmann::json device = {{"name", "x"}};
  for (int i = 0; i < 32; ++i) {
    device["attributes"][std::string(60, 'n') + std::to_string(i)] = {
        {"string", std::string(64, 'v')}};
  }
  object["spec"]["devices"] = nlohmann::json(64, device);
  std::size_t kept = 0;
  std::size_t bytes = 0;
  for (int i = 0; i < 300; ++i) {
    object["metadata"]["name"] = "a" + std::to_string(i);
    ASSERT_EQ(Add({object}), 0);
  }
  for (const PublishedSlice& slice : store_.SlicesOf("p")) {
    bytes += MemoryOf(slice.slice);
    kept += slice.is_foreign ? 0 : 1;
  }
  EXPECT_LE(bytes, SliceStore::kMaxBytes + 300 * sizeof(PublishedSlice));
  EXPECT_GT(kept, 50u);
  EXPECT_LT(kept, 300u);
  // Deletions make room.
  for (int i = 0; i < 300; ++i) store_.OnDeleted({"a" + std::to_string(i), "u-a", "1"});
  EXPECT_TRUE(Apply(WatchEventType::kAdded, Object("b", "2")));
  EXPECT_THAT(Shown(), ElementsAre("b@2:a"));
}

}  // namespace
}  // namespace patchbay
