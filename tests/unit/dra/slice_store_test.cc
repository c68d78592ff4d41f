#include "dra/slice_store.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

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
    const auto applied = store_.Apply({type, object, object["metadata"]["resourceVersion"]});
    EXPECT_TRUE(applied) << (applied ? "" : applied.error().message);
    return applied && !applied->empty();
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
  const auto errors = store_.ReplaceAll(
      {Object("a", "1"), other_driver, other_node, nlohmann::json::object(), "x"});
  EXPECT_THAT(errors, SizeIs(2));
  EXPECT_THAT(Shown(), ElementsAre("a@1:a"));
  EXPECT_THAT(store_.ReplaceAll({}), IsEmpty());
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
  EXPECT_FALSE(store_.Apply({WatchEventType::kAdded, nlohmann::json::object(), "1"}));
}

TEST_F(SliceStoreTest, IsBounded) {
  for (std::size_t i = 0; i <= SliceStore::kMaxSlices; ++i) {
    store_.OnWritten(Slice("a" + std::to_string(i), "1"));
  }
  EXPECT_THAT(store_.SlicesOf("p"), SizeIs(SliceStore::kMaxSlices));
}

}  // namespace
}  // namespace patchbay
